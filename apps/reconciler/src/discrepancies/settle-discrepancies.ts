import type { DiscrepancyState, SettleAnswer, SettleRequest } from '#delivery';
import type { Database } from '#runtime';

/** From which states each may follow; asked again, it stays as it is. A comparison may see the effect of a repair before it is told of it: `gone`. */
const mayFollow: Readonly<Record<SettleRequest['items'][number]['state'], readonly DiscrepancyState[]>> = {
  repairing: ['open', 'repair_failed', 'gone', 'repairing'],
  repaired: ['repairing', 'repaired'],
  repair_failed: ['repairing', 'repair_failed'],
  accepted: ['open', 'repair_failed', 'accepted'],
};

const settleSql = `
UPDATE discrepancy SET state = $2, by_whom = $3, approver = coalesce($4, approver), item_id = coalesce($5, item_id), result = coalesce($6, result),
  reason = coalesce($7, reason), changed_at = clock_now()
WHERE discrepancy_id = $1 AND state = ANY ($8::text[]) RETURNING state`;

const stateSql = 'SELECT state FROM discrepancy WHERE discrepancy_id = $1';

/** Every row that is asked for, locked in the order in which a comparison locks them: two that wait for each other would both have to begin anew. */
const lockSql = 'SELECT FROM discrepancy WHERE discrepancy_id = ANY ($1::uuid[]) ORDER BY identity FOR UPDATE';

/** Says what became of discrepancies: who decided, and how the repair ended. All or none of them, unless a state does not allow it. */
export function settleDiscrepancies(db: Database, { items }: SettleRequest): Promise<SettleAnswer> {
  return db.transaction(async (tx) => {
    await tx.sql('reconciler.settle_lock', lockSql, [items.map(({ discrepancy_id }) => discrepancy_id)]);
    const answer: SettleAnswer['items'] = [];
    for (const { discrepancy_id, state, by, approver, item_id, result, reason } of items) {
      const values = [discrepancy_id, state, by, approver ?? null, item_id ?? null, result ?? null, reason ?? null, mayFollow[state]];
      const [settled] = await tx.sql<{ state: DiscrepancyState }>('reconciler.settle', settleSql, values);
      const [now] =
        settled === undefined ? await tx.sql<{ state: DiscrepancyState }>('reconciler.state', stateSql, [discrepancy_id]) : [settled];
      answer.push(now === undefined ? null : { discrepancy_id, settled: settled !== undefined, state: now.state });
    }
    return { items: answer };
  });
}
