/** A spreadsheet takes these for the beginning of a formula. */
const formula = /^[=+\-@\t\r]/;

/** One field of a CSV line (RFC 4180). Text that a spreadsheet would run is led by an apostrophe. */
export function csvField(value: string | number | boolean | Date | null | undefined): string {
  if (value === null || value === undefined) return '';
  const text = value instanceof Date ? value.toISOString() : String(value);
  const safe = typeof value === 'string' && formula.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** One line with its end. */
export function csvLine(values: readonly Parameters<typeof csvField>[0][]): string {
  return `${values.map(csvField).join(',')}\r\n`;
}
