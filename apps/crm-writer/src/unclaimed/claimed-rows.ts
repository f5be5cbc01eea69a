import type { Sql } from '#runtime';

const claimedSql = 'SELECT event_id FROM delivery WHERE destination = $1 AND event_id = ANY ($2::uuid[])';

/** Which of these leads a process has taken up, i.e. have a row. By the primary key. Rejects with DatabaseUnavailable. */
export async function claimedAmong(db: Sql, destination: string, eventIds: readonly string[]): Promise<Set<string>> {
  if (eventIds.length === 0) return new Set();
  const rows = await db.sql<{ event_id: string }>('crm_writer.claimed_among', claimedSql, [destination, eventIds]);
  return new Set(rows.map(({ event_id }) => event_id));
}
