import type { ReplayItemState } from '#delivery';
import { type Column, columnValues, metrics, unnestColumns } from '#runtime';
import { groupBy } from '../../group-by.js';
import type { BatchRow } from '../batch-row.js';
import { pagesOf } from '../facts.js';
import { type ItemOutcome, judgeItem } from '../machine/judge-item.js';
import type { ItemName, ReplayOwner } from '../replay-owner.js';
import type { BatchTools } from '../tools.js';
import { historyLease, keepHistories } from './keep-histories.js';

interface Outstanding extends ItemName {
  service: string;
  /** Null: it repairs what differs at its destination. */
  dead_letter_id: string | null;
}

const outstandingSql = `
SELECT item_id, event_id, destination, service, dead_letter_id FROM replay_item
WHERE batch_id = $1 AND state = 'open' AND sent_at IS NOT NULL ORDER BY checked_at LIMIT 5000`;

interface Followed {
  item: Outstanding;
  said: ReplayItemState;
  /** Undefined: it is open. */
  outcome?: ItemOutcome;
}

const columns: readonly Column<Followed>[] = [
  ['item', 'uuid', ({ item }) => item.item_id],
  ['outcome', 'text', ({ outcome }) => outcome],
  ['failed', 'text', ({ said }) => said.class],
  ['word', 'text', ({ said }) => said.code],
  ['took', 'int4', ({ said }) => said.duration_ms],
  ['found_refs', 'jsonb', ({ said }) => JSON.stringify(said.refs)],
  ['more', 'text', ({ said, outcome }) => (outcome === 'ended' ? said.state : undefined)],
];
const noteSql = `
UPDATE replay_item i SET checked_at = clock_now(), state = coalesce(v.outcome, i.state), class = v.failed, code = v.word, duration_ms = v.took,
  refs = v.found_refs, detail = coalesce(v.more, i.detail), closed_at = CASE WHEN v.outcome IS NULL THEN NULL ELSE clock_now() END,
  history_due_at = CASE WHEN v.outcome IS NOT NULL AND i.dead_letter_id IS NOT NULL THEN ${historyLease} END
FROM ${unnestColumns('v', columns)} WHERE i.item_id = v.item AND i.state = 'open' RETURNING i.item_id, i.state`;

export interface Round {
  /** Items under way, before this round. */
  outstanding: number;
  /** Of these, how many have ended now. */
  ended: number;
}

/**
 * Asks the owners what became of the items under way, by the items' own ids, and notes what has ended. What will not be applied any more (its
 * batch was stopped, its time is over) is closed there first. Rejects while an owner does not answer: nothing is assumed.
 */
export async function followItems(tools: BatchTools, batch: BatchRow): Promise<Round> {
  const { db, replays } = tools;
  const items = await db.sql<Outstanding>('operator.outstanding_items', outstandingSql, [batch.batch_id]);
  const how = {
    stopped: batch.state === 'stopped' || batch.state === 'expired',
    overdue: batch.not_after !== null && batch.not_after < batch.now,
  };
  let ended = 0;
  for (const [service, own] of groupBy(items, ({ service: name }) => name)) {
    const owner = replays.get(service);
    if (owner === undefined) continue;
    for (const page of pagesOf(own)) {
      const followed = await followPage(owner, page, how);
      const noted = await db.sql<{ item_id: string; state: string }>('operator.note_items', noteSql, columnValues(columns, followed));
      const over = noted.filter(({ state }) => state !== 'open');
      for (const { state } of over) metrics.replayItems.inc({ outcome: state });
      ended += over.length;
      const ids = new Set(over.map(({ item_id }) => item_id));
      const closed = page.filter(({ item_id }) => ids.has(item_id));
      // They are marked, for this runner first: once its time is over whoever works off what is due does it.
      await keepHistories(tools, service, closed).catch((err: unknown) =>
        tools.logger.warn({ err, component: service }, 'What was tried again is not in the history of its dead letters yet'),
      );
    }
  }
  return { outstanding: items.length, ended };
}

async function followPage(
  owner: ReplayOwner,
  page: readonly Outstanding[],
  how: { stopped: boolean; overdue: boolean },
): Promise<Followed[]> {
  const said = await owner.items(page);
  const judged = page.flatMap((item, index): (Followed & { close: boolean })[] => {
    const own = said[index];
    if (own === undefined) return [];
    const verdict = judgeItem(own, { ...how, repair: item.dead_letter_id === null });
    return [{ item, said: own, outcome: verdict === 'open' || verdict === 'close' ? undefined : verdict, close: verdict === 'close' }];
  });
  const closing = judged.filter(({ close }) => close);
  if (closing.length === 0) return judged;
  const closed = await owner.close(closing.map(({ item }) => item));
  for (const [index, one] of closing.entries()) {
    const after = closed[index];
    if (after === undefined) continue;
    one.said = after;
    // Of a delivery that its owner does not know nothing can be applied, closed or not.
    const over = { ...after, closed: after.closed || after.state === undefined };
    const verdict = judgeItem(over, { ...how, repair: one.item.dead_letter_id === null });
    one.outcome = verdict === 'open' || verdict === 'close' ? undefined : verdict;
  }
  return judged;
}
