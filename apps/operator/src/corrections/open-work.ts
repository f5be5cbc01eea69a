import type { Sql, Tx } from '#runtime';
import { correctionRefusals } from './tools.js';

/** Condition on a row of `correction`, under the alias that it has: it may still change the delivery. */
export const correctionOpen = (alias: string): string =>
  `(${alias}.state IN ('approved', 'sent') OR (${alias}.state = 'draft' AND ${alias}.expires_at >= clock_now()))`;

const itemSql = `
SELECT batch_id FROM replay_item WHERE event_id = $1 AND destination = $2 AND state = 'open' LIMIT 1`;

/** Also items of batches that are about to be approved: whoever opens them waits for this approval, or it for them. */
const lockSql = `
SELECT batch_id, state FROM replay_item WHERE event_id = $1 AND destination = $2 AND state IN ('listed', 'open') ORDER BY item_id FOR UPDATE`;

/** The same for an approval: until it is over no batch that is approved meanwhile gets this delivery, and one that has it is seen. */
export async function lockOutBatches(tx: Tx, { event_id, destination }: { event_id: string; destination: string }): Promise<void> {
  const items = await tx.sql<{ batch_id: string; state: string }>('operator.lock_items', lockSql, [event_id, destination]);
  const item = items.find(({ state }) => state === 'open');
  if (item !== undefined) throw correctionRefusals.inBatch(item.batch_id);
}

/** Throws the refusal that names the batch while one that has not ended holds this delivery: only one of the two may have it tried again. */
export async function refuseWhileInBatch(db: Sql, { event_id, destination }: { event_id: string; destination: string }): Promise<void> {
  const [item] = await db.sql<{ batch_id: string }>('operator.item_of_batch', itemSql, [event_id, destination]);
  if (item !== undefined) throw correctionRefusals.inBatch(item.batch_id);
}
