import type { Database } from '#runtime';
import { everyGeneration } from './generations.js';
import { clock } from './stored.js';

/** Where the last batch ended; rows before it are kept or gone. */
export interface PurgeCursor {
  eventId: string;
  destination: string;
}

export const purgeBeginning: PurgeCursor = { eventId: '00000000-0000-0000-0000-000000000000', destination: '' };

/**
 * Event ids begin with the time they were made, so the primary key alone finds old rows: no index by age is kept for every lead. What is
 * open, uncertain or changed within the time stays. `seen` counts rows that were looked at.
 */
const purgeSql = `${clock},
limits AS MATERIALIZED (
  SELECT now - $1::float8 * interval '1 millisecond' AS before, (
    lpad(to_hex((extract(epoch FROM now - $1::float8 * interval '1 millisecond') * 1000)::bigint), 12, '0') || repeat('0', 20)
  )::uuid AS below
  FROM clock
),
seen AS MATERIALIZED (
  SELECT event_id, destination,
    state IN ('delivered', 'discarded', 'erased', 'dead', 'expired') AND updated_at < (SELECT before FROM limits) AS old
  FROM delivery
  WHERE (event_id, destination) > ($2::uuid, $3) AND event_id < (SELECT below FROM limits)
  ORDER BY event_id, destination LIMIT $4
),
gone AS (
  DELETE FROM delivery d USING seen
  WHERE d.event_id = seen.event_id AND d.destination = seen.destination AND seen.old
    AND d.state IN ('delivered', 'discarded', 'erased', 'dead', 'expired') AND d.updated_at < (SELECT before FROM limits)
  RETURNING ${everyGeneration('d')} AS operation_keys
),
keys AS MATERIALIZED (SELECT unnest(operation_keys) AS operation_key FROM gone),
operations AS (DELETE FROM operation WHERE operation_key IN (SELECT operation_key FROM keys)),
attempts AS (DELETE FROM attempt WHERE operation_key IN (SELECT operation_key FROM keys))
SELECT (SELECT count(*)::int FROM gone) AS deleted, (SELECT count(*)::int FROM seen) AS seen, last.event_id, last.destination
FROM (SELECT 1) AS one LEFT JOIN (SELECT event_id, destination FROM seen ORDER BY event_id DESC, destination DESC LIMIT 1) AS last ON true`;

export interface PurgedBatch {
  deleted: number;
  /** Where to go on; absent: the end was reached. */
  next?: PurgeCursor;
}

/** Deletes one batch of finished deliveries with their operations and attempts. */
export async function purgeBatch(
  db: Database,
  { after, limit, retentionMs }: { after: PurgeCursor; limit: number; retentionMs: number },
): Promise<PurgedBatch> {
  const [row] = await db.sql<{ deleted: number; seen: number; event_id: string | null; destination: string | null }>(
    'purge.batch',
    purgeSql,
    [retentionMs, after.eventId, after.destination, limit],
  );
  if (!row?.event_id || row.seen < limit) return { deleted: row?.deleted ?? 0 };
  return { deleted: row.deleted, next: { eventId: row.event_id, destination: row.destination ?? '' } };
}
