import type { Database } from '#runtime';
import type { Work } from '../work.js';

/** Notes in the log of attempts that a claim was lost before its call. Changes no state: the row is another's by now. */
export async function appendLostLease(db: Database, work: Work<unknown>): Promise<void> {
  const operation = work.operations.find(({ state }) => state !== 'succeeded') ?? work.operations[0];
  if (operation === undefined) return;
  await db.sql(
    'attempt.lost',
    `INSERT INTO attempt (attempt_id, operation_key, late, number, started_at, outcome, trace_id, span_id)
     VALUES ($1, $2, true, $3, clock_now(), 'lease_lost', $4, $5) ON CONFLICT DO NOTHING`,
    [work.attemptId, operation.operationKey, operation.attempts + 1, work.span?.context.traceId ?? null, work.span?.context.spanId ?? null],
  );
}
