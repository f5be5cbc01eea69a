/** A row of the table `outbox` on its way. Ids stay text: int8 does not fit a number, and nothing here calculates with them. */
export interface QueuedRow {
  id: string;
  lane: number;
  topic: string;
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, string>;
  /** About what the row takes in memory and in a request. */
  bytes: number;
}

export type RowRef = Pick<QueuedRow, 'id' | 'lane'>;

/** Length, offset, timestamp and attribute fields of a record, generously. */
const overheadBytes = 64;

/** The `bytes` of a row. */
export function rowBytes({ key, value, headers }: Pick<QueuedRow, 'key' | 'value' | 'headers'>): number {
  let bytes = overheadBytes + (key?.length ?? 0) + (value?.length ?? 0);
  for (const name in headers) bytes += name.length + (headers[name]?.length ?? 0) + 2;
  return bytes;
}

/** A record needs headers of text; a row written by hand can hold anything that is JSON. */
export function hasUsableHeaders(headers: unknown): boolean {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) return false;
  for (const name in headers) if (typeof (headers as Record<string, unknown>)[name] !== 'string') return false;
  return true;
}
