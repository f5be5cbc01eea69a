import { type Column, columnValues, type Sql, type Tx, unnestColumns } from '#runtime';
import type { Seen } from '../compare/compare-operation.js';

/** One record, by what it is known as: the event of a lead, the reference of a person's record. */
export interface RecordName {
  kind: string;
  key: string;
}

export const nameOf = ({ kind, key }: RecordName): string => `${kind} ${key}`;

interface SeenRow extends RecordName {
  ref: string;
  version: string | null;
  status: string | null;
  owned: boolean;
  at_ms: number;
}

const nameColumns: readonly Column<RecordName>[] = [
  ['kind', 'text', ({ kind }) => kind],
  ['key', 'text', ({ key }) => key],
];

const seenSql = `
SELECT s.kind, s.key, s.ref, s.version, s.status, s.owned, (extract(epoch FROM s.seen_at) * 1000)::float8 AS at_ms FROM ${unnestColumns('i', nameColumns, 2)}
  JOIN seen s ON s.destination = $1 AND s.kind = i.kind AND s.key = i.key`;

/** What earlier comparisons saw of these records, by name. */
export async function readSeen(db: Sql, destination: string, names: readonly RecordName[]): Promise<Map<string, Seen>> {
  if (names.length === 0) return new Map();
  const rows = await db.sql<SeenRow>('reconciler.seen', seenSql, [destination, ...columnValues(nameColumns, names)]);
  return new Map(
    rows.map((row) => [
      nameOf(row),
      { ref: row.ref, version: row.version ?? undefined, status: row.status ?? undefined, owned: row.owned, atMs: row.at_ms },
    ]),
  );
}

export interface SeenRecord extends RecordName {
  seen: Seen;
}

const saveColumns: readonly Column<SeenRecord>[] = [
  ['kind', 'text', ({ kind }) => kind],
  ['key', 'text', ({ key }) => key],
  ['ref', 'text', ({ seen }) => seen.ref],
  ['version', 'text', ({ seen }) => seen.version],
  ['status', 'text', ({ seen }) => seen.status],
  ['owned', 'bool', ({ seen }) => seen.owned],
  ['seen_at', 'timestamptz', ({ seen }) => new Date(seen.atMs)],
];

/** Written only where it says something new, or is about to be forgotten. */
const saveSql = `
INSERT INTO seen AS s (destination, kind, key, ref, version, status, owned, seen_at)
SELECT $1, kind, key, ref, version, status, owned, seen_at FROM ${unnestColumns('i', saveColumns, 2)} ORDER BY kind, key
ON CONFLICT (destination, kind, key) DO UPDATE
SET ref = excluded.ref, version = excluded.version, status = excluded.status, owned = excluded.owned, seen_at = excluded.seen_at
WHERE (s.ref, s.version, s.status, s.owned) IS DISTINCT FROM (excluded.ref, excluded.version, excluded.status, excluded.owned)
  OR s.seen_at < excluded.seen_at - interval '1 day'`;

export async function saveSeen(tx: Tx, destination: string, records: readonly SeenRecord[]): Promise<void> {
  const byName = new Map(records.map((record) => [nameOf(record), record]));
  if (byName.size > 0) await tx.sql('reconciler.save_seen', saveSql, [destination, ...columnValues(saveColumns, [...byName.values()])]);
}

/** A record of an event that was missed. */
export interface Missed {
  kind: string;
  eventId: string;
  /** When we recorded that it was written; epoch milliseconds. A look from before that is none. */
  recordedMs?: number;
}

const missedName = ({ kind, eventId }: Missed): string => nameOf({ kind, key: eventId });

const looksSql = `
SELECT kind, event_id, (extract(epoch FROM missed_at) * 1000)::float8 AS missed_ms FROM look WHERE destination = $1 AND event_id = ANY ($2::uuid[])`;

/** Since when records of these events are missed, by name, in epoch milliseconds. */
export async function readLooks(db: Sql, destination: string, eventIds: readonly string[]): Promise<Map<string, number>> {
  if (eventIds.length === 0) return new Map();
  const rows = await db.sql<{ kind: string; event_id: string; missed_ms: number }>('reconciler.looks', looksSql, [destination, eventIds]);
  return new Map(rows.map(({ kind, event_id, missed_ms }) => [nameOf({ kind, key: event_id }), missed_ms]));
}

const missedColumns: readonly Column<Missed>[] = [
  ['kind', 'text', ({ kind }) => kind],
  ['event_id', 'uuid', ({ eventId }) => eventId],
];

const addLooksSql = `
INSERT INTO look (destination, kind, event_id, missed_at)
SELECT $1, kind, event_id, clock_now() FROM ${unnestColumns('i', missedColumns, 2)} ORDER BY kind, event_id
ON CONFLICT DO NOTHING`;

const dropLooksSql = `
DELETE FROM look l USING ${unnestColumns('i', missedColumns, 2)} WHERE l.destination = $1 AND l.kind = i.kind AND l.event_id = i.event_id`;

/** Begins to miss what was not found, anew where it was written since, and no longer misses what was found. @param known what was missed before, by name */
export async function saveLooks(
  tx: Tx,
  destination: string,
  { missed, found, known }: { missed: readonly Missed[]; found: readonly Missed[]; known: ReadonlyMap<string, number> },
): Promise<void> {
  const isStale = (one: Missed): boolean => (known.get(missedName(one)) ?? Number.POSITIVE_INFINITY) < (one.recordedMs ?? 0);
  const back = [...found.filter((one) => known.has(missedName(one))), ...missed.filter(isStale)];
  const fresh = [...new Map(missed.map((one) => [missedName(one), one])).values()];
  if (back.length > 0) await tx.sql('reconciler.drop_looks', dropLooksSql, [destination, ...columnValues(missedColumns, back)]);
  if (fresh.length > 0) await tx.sql('reconciler.add_looks', addLooksSql, [destination, ...columnValues(missedColumns, fresh)]);
}
