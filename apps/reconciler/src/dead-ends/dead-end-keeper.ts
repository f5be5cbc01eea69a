import { type Database, newEventId } from '#runtime';
import { storeFindings } from '../discrepancies/store-findings.js';
import { databaseNowMs } from '../runs/run-row.js';
import { checkDeadEnds, type DeadEnd, type DeadEndSources } from './check-dead-ends.js';

const goneSql = `
UPDATE discrepancy SET state = 'gone', changed_at = clock_now()
WHERE class = 'dead_end' AND state IN ('open', 'repair_failed') AND last_seen_at < $1`;

/** One check whole: stores what it found, and closes what it did not find again. Throws where a service or the database does not answer. */
export async function keepDeadEnds(db: Database, sources: DeadEndSources): Promise<DeadEnd[]> {
  const begunMs = await databaseNowMs(db);
  const ends = await checkDeadEnds(sources, begunMs);
  const begunAt = new Date(begunMs);
  const runId = newEventId();
  await db.transaction(async (tx) => {
    for (const destination of [...new Set(ends.map((one) => one.destination))].sort()) {
      const some = ends.filter((one) => one.destination === destination);
      await storeFindings(tx, some, { destination, runId, begunAt });
    }
    await tx.sql('reconciler.gone_dead_ends', goneSql, [begunAt]);
  });
  return ends;
}
