import type { DiscrepancyClass } from '#delivery';
import type { Sql, Tx } from '#runtime';

/** An open finding about a record of the destination that is not ours. */
export interface OpenRecord {
  identity: string;
  class: DiscrepancyClass;
  kind: string;
  ref: string;
  /** Of the lead that it may be of; of an orphan the id that it stands under. */
  event_id: string;
}

const columns = 'identity, class, kind, ref, event_id';
const isOpen = `destination = $1 AND class = ANY ($2::text[]) AND state IN ('open', 'repair_failed') AND kind IS NOT NULL AND ref IS NOT NULL
  AND event_id IS NOT NULL`;

const elsewhereSql = `
SELECT ${columns} FROM discrepancy
WHERE ${isOpen} AND last_run_id <> $3 AND identity > $4 AND (at < $5 OR at >= $6) ORDER BY identity LIMIT $7`;

interface Elsewhere {
  destination: string;
  classes: readonly DiscrepancyClass[];
  runId: string;
  after?: string;
  from: Date;
  to: Date;
  limit: number;
}

/** Those outside a window that this run has not found, in the order of their identities. */
export function openElsewhere(db: Sql, { destination, classes, runId, after = '', from, to, limit }: Elsewhere): Promise<OpenRecord[]> {
  return db.sql<OpenRecord>('reconciler.open_elsewhere', elsewhereSql, [destination, classes, runId, after, from, to, limit]);
}

const ofRefsSql = `SELECT ${columns} FROM discrepancy WHERE ${isOpen} AND kind = $3 AND ref = ANY ($4::text[])`;

/** Those about these records. */
export async function openOf(
  db: Sql,
  { destination, classes, kind, refs }: Pick<Elsewhere, 'destination' | 'classes'> & { kind: string; refs: readonly string[] },
): Promise<OpenRecord[]> {
  return refs.length === 0 ? [] : db.sql<OpenRecord>('reconciler.open_of', ofRefsSql, [destination, classes, kind, refs]);
}

const closeSql = `
UPDATE discrepancy SET state = 'gone', changed_at = clock_now() WHERE discrepancy_id IN (
  SELECT discrepancy_id FROM discrepancy WHERE identity = ANY ($1::text[]) AND state IN ('open', 'repair_failed') ORDER BY identity FOR UPDATE)`;

/** Ends those that are right by now. */
export async function closeRecords(tx: Tx, identities: readonly string[]): Promise<void> {
  if (identities.length > 0) await tx.sql('reconciler.close_records', closeSql, [identities]);
}
