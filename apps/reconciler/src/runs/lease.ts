import { randomUUID } from 'node:crypto';
import type { Sql, Tx } from '#runtime';
import { type RunCounts, type RunCursor, type RunRow, runColumns } from './run-row.js';

export interface Holder {
  runId: string;
  /** Of this taking alone: whoever was too slow is another, also in the same process. */
  owner: string;
  leaseMs: number;
}

const isFree = (run: string): string =>
  `${run}.state IN ('waiting', 'running') AND (${run}.lease_until IS NULL OR ${run}.lease_until < clock_now())`;

/**
 * One run of a destination at a time: two would ask it twice as often as is allowed. That it is free is asked again of the row as it is once it
 * is locked: somebody may have stopped it meanwhile.
 */
const takeSql = `
UPDATE run AS u SET state = 'running', lease_owner = $1, lease_until = clock_now() + $2::float8 * interval '1 millisecond', takes = takes + 1,
  started_at = coalesce(started_at, clock_now()), reason = NULL
WHERE run_id IN (
  SELECT DISTINCT ON (r.destination) r.run_id FROM run r
  WHERE ${isFree('r')}
    AND NOT EXISTS (SELECT FROM run o WHERE o.destination = r.destination AND o.state = 'running' AND o.lease_until >= clock_now())
  ORDER BY r.destination, r.state = 'waiting', r.created_at)
  AND ${isFree('u')}
RETURNING ${runColumns}`;

/** Two processes that look at once must not take two runs of a destination. */
const oneLookSql = `SELECT pg_advisory_xact_lock(hashtext('reconciler.take'))`;

/** Takes what waits, and what was left by a process that is gone, for a new owner. */
export function takeRuns(tx: Tx, leaseMs: number): Promise<RunRow[]> {
  return tx.sql('reconciler.one_look', oneLookSql, []).then(() => tx.sql<RunRow>('reconciler.take', takeSql, [randomUUID(), leaseMs]));
}

const renewSql = `
UPDATE run SET lease_until = clock_now() + $3::float8 * interval '1 millisecond', reason = $4
WHERE run_id = $1 AND lease_owner = $2 AND state = 'running' RETURNING run_id`;

/** False: it was stopped, or is another's. @param reason why it waits at the moment */
export async function renew(db: Sql, { runId, owner, leaseMs }: Holder, reason?: string): Promise<boolean> {
  return (await db.sql('reconciler.renew', renewSql, [runId, owner, leaseMs, reason ?? null])).length > 0;
}

export interface Step {
  cursor: RunCursor;
  counts: RunCounts;
  calls: number;
}

const stepSql = `
UPDATE run SET cursor = $3, counts = $4, calls = $5, reason = NULL, lease_until = clock_now() + $6::float8 * interval '1 millisecond'
WHERE run_id = $1 AND lease_owner = $2 AND state = 'running' RETURNING run_id`;

/** Where the run goes on, together with what the page came to. False: it is not ours any more, and nothing of the page may stay. */
export async function step(tx: Tx, { runId, owner, leaseMs }: Holder, { cursor, counts, calls }: Step): Promise<boolean> {
  const values = [runId, owner, JSON.stringify(cursor), JSON.stringify(counts), calls, leaseMs];
  return (await tx.sql('reconciler.step', stepSql, values)).length > 0;
}

const endSql = `
UPDATE run SET state = $3, reason = $4, calls = greatest(calls, $5), finished_at = clock_now(), lease_owner = NULL, lease_until = NULL
WHERE run_id = $1 AND lease_owner = $2 AND state = 'running' RETURNING run_id`;

export interface End {
  state: 'finished' | 'failed';
  reason?: string;
  calls: number;
}

export async function end(db: Sql, { runId, owner }: Holder, { state, reason, calls }: End): Promise<boolean> {
  return (await db.sql('reconciler.end', endSql, [runId, owner, state, reason ?? null, calls])).length > 0;
}

const giveBackSql = `UPDATE run SET lease_until = NULL, lease_owner = NULL WHERE run_id = $1 AND lease_owner = $2`;

/** Another process may go on with it at once. */
export async function giveBack(db: Sql, { runId, owner }: Holder): Promise<void> {
  await db.sql('reconciler.give_back', giveBackSql, [runId, owner]);
}

const placeSql = 'SELECT cursor, counts FROM run WHERE run_id = $1 AND lease_owner = $2';

/** Where the run stands; undefined where it is not ours any more. Asked where nobody knows whether a step was committed. */
export async function placeOf(db: Sql, { runId, owner }: Holder): Promise<Pick<RunRow, 'cursor' | 'counts'> | undefined> {
  return (await db.sql<Pick<RunRow, 'cursor' | 'counts'>>('reconciler.place', placeSql, [runId, owner]))[0];
}
