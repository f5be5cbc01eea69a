import type { Logger, Sql } from '#runtime';
import { groupBy } from '../group-by.js';
import type { ReconcilerApi } from './reconciler-api.js';

interface UntoldItem {
  item_id: string;
  discrepancy_ids: string[];
  state: string;
  told_as: string | null;
  class: string | null;
  code: string | null;
  detail: string | null;
  refs: Record<string, string>;
  author: string;
  approver: string | null;
  batch_id: string;
}

/** A page of one request of the reconciler's; an item has few discrepancies. */
const pageSize = 100;

/** A listed item is nobody's business; one that was approved and is listed again, or skipped then, is. */
const untoldSql = `
SELECT i.item_id, i.discrepancy_ids, i.state, i.told_as, i.class, i.code, i.detail, i.refs, b.author, b.approver, i.batch_id
FROM replay_item i JOIN replay_batch b USING (batch_id)
WHERE i.discrepancy_ids IS NOT NULL AND i.told_as IS DISTINCT FROM i.state AND (i.told_as IS NOT NULL OR i.state NOT IN ('listed', 'skipped'))
ORDER BY i.checked_at LIMIT ${pageSize}`;

const toldSql = `
UPDATE replay_item i SET told_as = v.state FROM unnest($1::uuid[], $2::text[]) AS v(item_id, state) WHERE i.item_id = v.item_id`;

/**
 * Tells the reconciler what became of approved repairs, until it has answered: the items' own rows say what it was told last. Told twice, the second
 * says nothing new. Rejects while it does not answer.
 */
export async function tellReconciler({
  db,
  reconciler,
  logger,
}: {
  db: Sql;
  reconciler: Pick<ReconcilerApi, 'settle'>;
  logger: Logger;
}): Promise<void> {
  for (;;) {
    const untold = await db.sql<UntoldItem>('operator.untold_repairs', untoldSql, []);
    if (untold.length === 0) return;
    for (const [, items] of groupBy(untold, ({ batch_id }) => batch_id)) await reconciler.settle(items.flatMap(settledAs));
    await db.sql('operator.told_repairs', toldSql, [untold.map(({ item_id }) => item_id), untold.map(({ state }) => state)]);
    logger.info({ count: untold.length }, 'Told the reconciler what became of repairs');
    if (untold.length < pageSize) return;
  }
}

type Settled = Parameters<ReconcilerApi['settle']>[0][number];

const states: Readonly<Record<string, Settled['state']>> = { succeeded: 'repaired' };

/** It is told that a repair began before it is told how that ended, also where both were over before anybody looked. */
function settledAs({ item_id, discrepancy_ids, state, told_as, author, approver, ...item }: UntoldItem): Settled[] {
  const about = { by: author, ...(approver !== null && { approver }), item_id };
  const began = { ...about, state: 'repairing' as const };
  const ended = { ...about, state: states[state] ?? ('repair_failed' as const), result: resultOf({ state, ...item }) };
  const said = state === 'open' ? [began] : told_as === 'open' ? [ended] : [began, ended];
  return discrepancy_ids.flatMap((discrepancy_id) => said.map((one) => ({ discrepancy_id, ...one })));
}

const longestResult = 200;

/** The item's end in words: `failed permanent http_422`, `succeeded lead=L-9`. */
function resultOf({ state, class: failure, code, detail, refs }: Pick<UntoldItem, 'state' | 'class' | 'code' | 'detail' | 'refs'>): string {
  const made = state === 'succeeded' ? Object.entries(refs).map(([kind, ref]) => `${kind}=${ref}`) : [];
  const word = state === 'listed' ? 'edited' : state;
  return [word, failure, code, detail, ...made]
    .filter((part) => part !== null && part !== '')
    .join(' ')
    .slice(0, longestResult);
}
