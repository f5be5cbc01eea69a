import type { Database } from '#runtime';
import { audit } from '../audit/audit.js';
import { changeState, lockBatch, organizationOf } from './batch-row.js';
import { hasExpired } from './command-batch.js';
import { next } from './machine/batch-state.js';

/** A list that nobody has approved for so long is not what anybody would approve. */
const draftValidDays = 7;

/** Each half names the states of an index of those that are not over: batches are kept for long, and few are open. */
export const lateSql = `
SELECT batch_id FROM replay_batch WHERE state IN ('draft', 'checked') AND created_at < (SELECT clock_now()) - interval '${draftValidDays} days'
UNION ALL
SELECT batch_id FROM replay_batch WHERE state IN ('approved', 'canary', 'running', 'paused') AND state IN ('approved', 'paused')
  AND CASE WHEN began_at IS NULL THEN approval_expires_at ELSE not_after END < clock_now()
LIMIT 100`;

/** Ends batches whose time is over before they began, or while they were paused: their items are free for others again. */
export async function expireBatches(db: Database): Promise<void> {
  for (const { batch_id } of await db.sql<{ batch_id: string }>('operator.late_batches', lateSql, [])) {
    await db.transaction(async (tx) => {
      const batch = await lockBatch(tx, batch_id);
      const late = batch.approved_at === null || hasExpired(batch);
      if (!late || !next({ state: batch.state }, 'expire').ok) return;
      const why = 'approval_expired';
      await changeState(tx, batch, { event: 'expire', by: 'runner', why });
      const subject = { batch_id, why, was: batch.state };
      await audit(tx, { caller: 'runner', person: 'runner', action: 'batch.expire', organization: organizationOf(batch), subject });
    });
  }
}
