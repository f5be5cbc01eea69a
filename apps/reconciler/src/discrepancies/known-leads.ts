import type { DiscrepancyClass } from '#delivery';
import type { Sql } from '#runtime';

/** Each side is read in the order of its index and no further than a page: there may be many of either. */
export const leadsSql = `
(SELECT DISTINCT event_id FROM discrepancy
WHERE destination = $1 AND state IN ('open', 'repairing', 'repair_failed', 'repaired') AND (state <> 'repaired' OR changed_at >= $2)
  AND class = ANY ($3::text[]) AND aspect IS DISTINCT FROM 'told_late' AND last_run_id <> $4 AND event_id > $5
ORDER BY event_id LIMIT $6)
UNION
(SELECT DISTINCT event_id FROM look l
WHERE destination = $1 AND missed_at < $7 AND event_id > $5 AND NOT EXISTS (
  SELECT FROM discrepancy d WHERE d.event_id = l.event_id AND d.destination = l.destination AND d.kind = l.kind
    AND d.class IN ('missing', 'deleted') AND (d.last_run_id = $4 OR d.state = 'accepted'))
ORDER BY event_id LIMIT $6)
ORDER BY event_id LIMIT $6`;

export interface KnownLeads {
  destination: string;
  /** What this run has found again is looked at already. */
  runId: string;
  classes: readonly DiscrepancyClass[];
  /** What was repaired before this has been looked at since. */
  repairedFrom: Date;
  /** When this run began: what was missed before that is looked at once more. */
  begunAt: Date;
  after?: string;
  limit: number;
}

const first = '00000000-0000-0000-0000-000000000000';

/**
 * Events of leads that somebody still waits for, that were repaired lately, or that an earlier run missed and no later one has found, whenever
 * they were submitted; in the order of their ids. Without those of which somebody was only told late: they end by not being seen again.
 */
export async function knownLeads(
  db: Sql,
  { destination, runId, classes, repairedFrom, begunAt, after = first, limit }: KnownLeads,
): Promise<string[]> {
  const values = [destination, repairedFrom, classes, runId, after, limit, begunAt];
  return (await db.sql<{ event_id: string }>('reconciler.known_leads', leadsSql, values)).map(({ event_id }) => event_id);
}
