import type { Sql, Tx } from '#runtime';
import { type BatchRow, batchColumns, type Change, changeState, lockBatch } from '../batch-row.js';
import type { BatchState } from '../machine/batch-state.js';

/**
 * After this another runner takes a batch on whose runner is gone. One that was only slow loses nothing by it: what it sends is refused, and it
 * may take the batch again.
 */
const leaseMs = 3_000;

/** What may be sent, and what has ended otherwise while items of it are under way. */
const takeSql = `
UPDATE replay_batch SET lease_owner = $1, lease_until = clock_now() + interval '${leaseMs} milliseconds'
WHERE batch_id IN (
  SELECT batch_id FROM replay_batch b
  WHERE (b.state IN ('approved', 'canary', 'running') OR (b.state IN ('paused', 'stopped', 'expired')
      AND (EXISTS (SELECT FROM replay_item i WHERE i.batch_id = b.batch_id AND i.state = 'open' AND i.sent_at IS NOT NULL)
        OR (b.state <> 'paused' AND EXISTS (SELECT FROM replay_item i WHERE i.batch_id = b.batch_id AND i.state = 'open' AND i.sent_at IS NULL)))))
    AND (b.lease_until IS NULL OR b.lease_until < clock_now())
  ORDER BY b.approved_at LIMIT 20 FOR UPDATE SKIP LOCKED)
RETURNING batch_id`;

const renewSql = `
UPDATE replay_batch b SET lease_until = clock_now() + interval '${leaseMs} milliseconds'
WHERE b.batch_id = $1 AND b.lease_owner = $2 AND b.lease_until > clock_now() RETURNING ${batchColumns}`;

const giveBackSql = 'UPDATE replay_batch SET lease_until = NULL, lease_owner = NULL WHERE batch_id = $1 AND lease_owner = $2';

/** Takes batches that need a runner and have none. */
export async function takeBatches(db: Sql, runner: string): Promise<string[]> {
  return (await db.sql<{ batch_id: string }>('operator.take_batches', takeSql, [runner])).map(({ batch_id }) => batch_id);
}

/** The batch as it is now; undefined when it is another's, or nobody's any more. */
export async function renewLease(db: Sql, batchId: string, runner: string): Promise<BatchRow | undefined> {
  return (await db.sql<BatchRow>('operator.renew_batch', renewSql, [batchId, runner]))[0];
}

export async function giveBack(db: Sql, batchId: string, runner: string): Promise<void> {
  await db.sql('operator.give_back_batch', giveBackSql, [batchId, runner]);
}

/** The batch under a lock, where this runner still has it. People's commands wait for the lock, and it for theirs. */
export async function lockLeased(tx: Tx, batchId: string, runner: string): Promise<BatchRow | undefined> {
  const batch = await lockBatch(tx, batchId);
  return batch.lease_owner === runner && batch.leased ? batch : undefined;
}

/** Takes the batch a step on where this runner has it and it is still in that state; undefined where not. */
export async function step(
  tx: Tx,
  { batchId, runner, from }: { batchId: string; runner: string; from: BatchState },
  change: Change,
): Promise<BatchState | undefined> {
  const batch = await lockLeased(tx, batchId, runner);
  return batch?.state === from ? changeState(tx, batch, change) : undefined;
}
