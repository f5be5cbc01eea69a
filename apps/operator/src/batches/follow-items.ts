import { type Logger, metrics, type Sql } from '#runtime';
import { type OwnerApi, ownerBatch } from '../owners/owner-api.js';
import { type ItemOutcome, judgeItem } from './judge-item.js';

interface OpenItem {
  item_id: string;
  event_id: string;
  destination: string;
  deadline_at: Date;
  not_after: Date;
  ended_at: Date | null;
  now: Date;
}

const openSql = `
SELECT i.item_id, i.event_id, i.destination, b.deadline_at, b.not_after, b.ended_at, clock_now() AS now
FROM replay_item i JOIN replay_batch b USING (batch_id) WHERE i.state = 'open' AND i.service = $1 ORDER BY i.checked_at LIMIT $2`;

const closeSql = `
UPDATE replay_item i SET checked_at = clock_now(), state = coalesce(o.outcome, i.state),
  closed_at = CASE WHEN o.outcome IS NULL THEN NULL ELSE clock_now() END
FROM unnest($1::uuid[], $2::text[]) AS o(item_id, outcome) WHERE i.item_id = o.item_id AND i.state = 'open' RETURNING o.outcome`;

const finishSql = `
UPDATE replay_batch b SET state = 'finished', ended_at = clock_now()
WHERE b.state IN ('running', 'paused') AND NOT EXISTS (SELECT FROM replay_item i WHERE i.batch_id = b.batch_id AND i.state = 'open')
RETURNING batch_id`;

/** Notes what approved items came to, and ends batches that have no open one. An owner that does not answer: rejects, nothing is assumed. */
export async function followItems(db: Sql, owners: ReadonlyMap<string, OwnerApi>, logger: Logger): Promise<void> {
  for (const [service, owner] of owners) {
    const items = await db.sql<OpenItem>('operator.open_items', openSql, [service, ownerBatch]);
    if (items.length === 0) continue;
    const deliveries = await owner.states(items.map(({ event_id, destination }) => ({ event_id, destination })));
    const outcomes = items.map((item, index) => {
      const facts = { deadlineAt: item.deadline_at, notAfter: item.not_after, batchEndedAt: item.ended_at ?? undefined };
      return judgeItem(facts, deliveries[index], item.now) ?? null;
    });
    const values = [items.map(({ item_id }) => item_id), outcomes];
    const closed = await db.sql<{ outcome: ItemOutcome | null }>('operator.close_items', closeSql, values);
    for (const { outcome } of closed) if (outcome !== null) metrics.replayItems.inc({ outcome });
  }
  const finished = await db.sql<{ batch_id: string }>('operator.finish_batches', finishSql, []);
  for (const { batch_id } of finished) logger.info({ batch_id }, 'Replay batch finished');
}
