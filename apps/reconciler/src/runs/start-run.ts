import type { StartRunAnswer, StartRunRequest, StopRunAnswer, StopRunRequest } from '#delivery';
import { type Database, newEventId, type ReconcileConfig, type Site } from '#runtime';

const startSql = `
INSERT INTO run (run_id, destination, from_at, to_at, form, campaign, outcome, state, by_whom, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, 'waiting', $8, clock_now())`;

/** Puts down a run that somebody asked for; a runner takes it within a second. Throws DatabaseUnavailable. */
export async function startRun(
  { db, site }: { db: Database; site: Pick<Site, 'destinations'> },
  asked: StartRunRequest,
): Promise<StartRunAnswer> {
  const config = site.destinations[asked.destination];
  if (config === undefined) return { refused: 'unknown_destination' };
  if (config.reconcile === undefined) return { refused: 'not_comparable' };
  if (Date.parse(asked.from) >= Date.parse(asked.to)) return { refused: 'empty_window' };
  const runId = newEventId();
  const { destination, from, to, form, campaign, outcome, by } = asked;
  await db.sql('reconciler.start', startSql, [
    runId,
    destination,
    new Date(from),
    new Date(to),
    form ?? null,
    campaign ?? null,
    outcome ?? null,
    by,
  ]);
  return { run_id: runId };
}

const stopSql = `
UPDATE run SET state = 'stopped', reason = 'stopped by ' || $2, finished_at = clock_now(), lease_owner = NULL, lease_until = NULL
WHERE run_id = $1 AND state IN ('waiting', 'running') RETURNING run_id`;

/** Its runner notices with its next page, which stays without effect. */
export async function stopRun(db: Database, { run_id, by }: StopRunRequest): Promise<StopRunAnswer> {
  return { stopped: (await db.sql('reconciler.stop', stopSql, [run_id, by])).length > 0 };
}

/** Who asks for the comparisons that nobody asks for. */
export const bySchedule = 'schedule';

/**
 * Its own last run, ended or not, says when the next one is due; the last that came to its end, from where on there is something to look at: a run
 * may have waited, failed, or not have been put down for longer than a window.
 */
const dueSql = `
INSERT INTO run (run_id, destination, from_at, to_at, state, by_whom, created_at)
SELECT $1, $2, least(clock_now() - $3::float8 * interval '1 millisecond',
    (SELECT max(to_at) FROM run WHERE destination = $2 AND by_whom = '${bySchedule}' AND state = 'finished')),
  clock_now(), 'waiting', '${bySchedule}', clock_now()
WHERE NOT EXISTS (
  SELECT FROM run WHERE destination = $2 AND by_whom = '${bySchedule}'
    AND (state IN ('waiting', 'running') OR created_at > clock_now() - $4::float8 * interval '1 millisecond'))
RETURNING run_id`;

/** Puts down a run for a destination whose time has come. Several processes may ask at once. */
export function startDueRun(db: Database, destination: string, { everyMs, windowMs }: ReconcileConfig): Promise<boolean> {
  return db.transaction(async (tx) => {
    await tx.sql('reconciler.one_schedule', `SELECT pg_advisory_xact_lock(hashtext('reconciler.schedule'))`, []);
    return (await tx.sql('reconciler.due', dueSql, [newEventId(), destination, windowMs, everyMs])).length > 0;
  });
}
