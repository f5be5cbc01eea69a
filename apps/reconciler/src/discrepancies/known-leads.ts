import type { DiscrepancyClass } from '#delivery';
import type { Sql } from '#runtime';

const leadsSql = `
SELECT DISTINCT event_id FROM discrepancy
WHERE destination = $1 AND state IN ('open', 'repairing', 'repair_failed', 'repaired') AND (state <> 'repaired' OR changed_at >= $2)
  AND class = ANY ($3::text[]) AND last_run_id <> $4 AND event_id > $5
ORDER BY event_id LIMIT $6`;

export interface KnownLeads {
  destination: string;
  /** What this run has found again is looked at already. */
  runId: string;
  classes: readonly DiscrepancyClass[];
  /** What was repaired before this has been looked at since. */
  repairedFrom: Date;
  after?: string;
  limit: number;
}

const first = '00000000-0000-0000-0000-000000000000';

/** Events of leads that somebody still waits for, or that were repaired lately, whenever they were submitted; in the order of their ids. */
export async function knownLeads(
  db: Sql,
  { destination, runId, classes, repairedFrom, after = first, limit }: KnownLeads,
): Promise<string[]> {
  const values = [destination, repairedFrom, classes, runId, after, limit];
  return (await db.sql<{ event_id: string }>('reconciler.known_leads', leadsSql, values)).map(({ event_id }) => event_id);
}
