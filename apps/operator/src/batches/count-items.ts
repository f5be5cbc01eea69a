import type { Sql } from '#runtime';

/** What the items of a batch are and came to. */
export interface Counted {
  items: number;
  eligible: number;
  approved: number;
  sent: number;
  succeeded: number;
  failed: number;
  uncertain: number;
  ended: number;
  stopped: number;
  not_applied: number;
  skipped: number;
  open: number;
  canary_ended: number;
  canary_verified: number;
  /** Sent within the last ten seconds. */
  recent: number;
  verdicts: Record<string, number>;
}

const states = ['succeeded', 'failed', 'uncertain', 'ended', 'stopped', 'not_applied', 'skipped', 'open'];
/** Of a batch: one pass over its items, by verdict. */
const parts = {
  items: 'true',
  eligible: "verdict = 'eligible'",
  approved: "verdict = 'eligible' AND state NOT IN ('listed', 'skipped')",
  sent: 'sent_at IS NOT NULL',
  ...Object.fromEntries(states.map((state) => [state, `state = '${state}'`])),
  canary_ended: 'canary AND closed_at IS NOT NULL',
  canary_verified: "canary AND found = 'one'",
  recent: "sent_at > clock_now() - interval '10 seconds'",
};
const countSql = `
SELECT ${Object.keys(parts)
  .map((name) => `coalesce(sum(${name}), 0)::int AS ${name}`)
  .join(', ')}, coalesce(json_object_agg(verdict, items) FILTER (WHERE verdict IS NOT NULL), '{}') AS verdicts
FROM (
  SELECT verdict, ${Object.entries(parts)
    .map(([name, condition]) => `count(*) FILTER (WHERE ${condition}) AS ${name}`)
    .join(', ')}
  FROM replay_item WHERE batch_id = $1 GROUP BY verdict) by_verdict`;
const keptSql = 'SELECT batch_id, counts FROM replay_batch WHERE batch_id = ANY ($1::uuid[]) AND counts IS NOT NULL';

/** By batch. What is kept of ended batches is not counted again; the others are counted one by one, each within the time of a statement. */
export async function countItems(db: Sql, batchIds: readonly string[]): Promise<Map<string, Counted>> {
  const kept = await db.sql<{ batch_id: string; counts: Counted }>('operator.kept_counts', keptSql, [batchIds]);
  const counted = new Map(kept.map(({ batch_id, counts }) => [batch_id, counts]));
  for (const id of batchIds) if (!counted.has(id)) counted.set(id, await countOne(db, id));
  return counted;
}

async function countOne(db: Sql, batchId: string): Promise<Counted> {
  return (await db.sql<Counted>('operator.count_items', countSql, [batchId]))[0] as Counted;
}

const uncountedSql = `
SELECT batch_id FROM replay_batch b WHERE counts IS NULL AND ended_at IS NOT NULL
  AND NOT EXISTS (SELECT FROM replay_item i WHERE i.batch_id = b.batch_id AND i.state = 'open' AND i.sent_at IS NOT NULL)
  AND NOT EXISTS (SELECT FROM replay_item i WHERE i.batch_id = b.batch_id AND i.state = 'open' AND i.sent_at IS NULL)
ORDER BY ended_at LIMIT 5`;
const keepSql = 'UPDATE replay_batch SET counts = $2::jsonb WHERE batch_id = $1';

/** Keeps the counts of batches that have ended with all their items: nothing of them changes any more. */
export async function keepCounts(db: Sql): Promise<void> {
  for (const { batch_id } of await db.sql<{ batch_id: string }>('operator.uncounted_batches', uncountedSql, [])) {
    const counts = { ...(await countOne(db, batch_id)), recent: 0 };
    await db.sql('operator.keep_counts', keepSql, [batch_id, JSON.stringify(counts)]);
  }
}
