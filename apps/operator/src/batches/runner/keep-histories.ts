import type { HistoryItem } from '#delivery';
import { groupBy } from '../../group-by.js';
import type { BatchTools } from '../tools.js';

/** An item that has ended, with the letter that was decided about. */
export interface ReplayedItem {
  item_id: string;
  event_id: string;
  destination: string;
  dead_letter_id: string | null;
}

/** Until then an item is of whoever has just taken it to ask for its history; from then on of whoever takes it first. */
export const historyLease = "clock_now() + interval '30 seconds'";

/** With the letters, the mark of every item that was asked about goes: what its owner does not know any more will not be known later. */
const keepSql = `
WITH kept AS (
  UPDATE dead_letter d SET operations = v.operations, history = v.history
  FROM unnest($1::uuid[], $2::jsonb[], $3::jsonb[]) AS v(dead_letter_id, operations, history) WHERE d.dead_letter_id = v.dead_letter_id
)
UPDATE replay_item SET history_due_at = NULL WHERE item_id = ANY ($4::uuid[]) AND history_due_at IS NOT NULL`;

type KeepTools = Pick<BatchTools, 'db' | 'owners' | 'logger'>;

/**
 * The letters that were decided about tell what came of it: the calls of the replay stand behind the old ones, under the same keys. Rejects
 * while the owner does not answer; the items stay marked.
 */
export async function keepHistories({ db, owners }: KeepTools, service: string, items: readonly ReplayedItem[]): Promise<void> {
  const own = items.filter(({ dead_letter_id }) => dead_letter_id !== null);
  if (own.length === 0) return;
  const histories = (await owners.get(service)?.histories(own)) ?? [];
  const byName = new Map(histories.map((history): [string, HistoryItem] => [`${history.event_id} ${history.destination}`, history]));
  const known = own.flatMap(({ event_id, destination, dead_letter_id: id }) => {
    const history = byName.get(`${event_id} ${destination}`);
    return history === undefined ? [] : [{ id, history }];
  });
  await db.sql('operator.keep_histories', keepSql, [
    known.map(({ id }) => id),
    known.map(({ history }) => JSON.stringify(history.operations)),
    known.map(({ history }) => JSON.stringify(history.attempts)),
    own.map(({ item_id }) => item_id),
  ]);
}

const duePage = 100;
/** Takes them: another that looks meanwhile gets others. Whose owner does not answer is asked again when its time is over. */
const takeSql = `
UPDATE replay_item SET history_due_at = ${historyLease}
WHERE item_id IN (
  SELECT item_id FROM replay_item WHERE history_due_at <= clock_now() ORDER BY history_due_at LIMIT ${duePage} FOR UPDATE SKIP LOCKED)
RETURNING item_id, event_id, destination, service, dead_letter_id`;

type DueItem = ReplayedItem & { service: string };

/**
 * Works off what was not written when its item ended: its owner was away, or the runner was killed in between. It ends with the first page that
 * is not all written: an owner that does not answer costs so much time that what was taken first is due again, and it would never end.
 */
export async function keepDueHistories(tools: KeepTools): Promise<void> {
  let due: DueItem[];
  do {
    due = await tools.db.sql<DueItem>('operator.take_histories', takeSql, []);
  } while ((await keepTaken(tools, due)) && due.length === duePage);
}

/** True: all are written. */
async function keepTaken(tools: KeepTools, due: readonly DueItem[]): Promise<boolean> {
  let all = true;
  for (const [service, items] of groupBy(due, (item) => item.service)) {
    try {
      await keepHistories(tools, service, items);
    } catch (err) {
      tools.logger.warn({ err, component: service }, 'What was tried again is not in the history of its dead letters yet');
      all = (await keepEach(tools, service, items)) && all;
    }
  }
  return all;
}

/** Then nobody answers for any. */
const failuresInARow = 3;

/** One whose history cannot be given does not keep the others from theirs. True: all are written. */
async function keepEach(tools: KeepTools, service: string, items: readonly ReplayedItem[]): Promise<boolean> {
  let [all, failed] = [true, 0];
  for (const item of items) {
    const kept = failed < failuresInARow && (await keepHistories(tools, service, [item]).then(yes, no));
    failed = kept ? 0 : failed + 1;
    all &&= kept;
  }
  return all;
}

const yes = (): boolean => true;
const no = (): boolean => false;
