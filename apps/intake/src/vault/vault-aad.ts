/** Binds sealed bytes to their row: moved to another lead or revision they do not open. */
export function vaultAad(leadRef: string, revision: number): string {
  return `vault:${leadRef}:${revision}`;
}
