/** Binds sealed bytes to their row: moved to another lead or revision they do not open. */
export function vaultAad(leadRef: string, revision: number): string {
  return `vault:${leadRef}:${revision}`;
}

/** The same for a record that was refused. */
export function rejectedAad(rejectedId: string): string {
  return `rejected:${rejectedId}`;
}
