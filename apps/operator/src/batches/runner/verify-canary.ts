import type { LookedUp } from '#delivery';
import { groupBy } from '../../group-by.js';
import { type Changes, readChanges } from '../../reconciliation/read-changes.js';
import type { RepairPlan } from '../../reconciliation/repair-plan.js';
import { pagesOf } from '../facts.js';
import type { EndedItem, VerifiedItem } from '../machine/stop-rules.js';
import { lookupPage } from '../replay-owner.js';
import type { BatchTools } from '../tools.js';

export interface CanaryItem {
  item_id: string;
  event_id: string;
  destination: string;
  service: string;
  state: string;
  class: string | null;
  letter_class: string | null;
  code: string | null;
  duration_ms: number | null;
  refs: Record<string, string>;
  found: VerifiedItem['found'] | null;
  /** Null: it is tried again. */
  repair: RepairPlan | null;
}

const itemColumns = 'item_id, event_id, destination, service, state, class, letter_class, code, duration_ms, refs, found, repair';
const canarySql = `SELECT ${itemColumns} FROM replay_item WHERE batch_id = $1 AND canary ORDER BY position`;
const sampleSql = `
SELECT ${itemColumns} FROM replay_item WHERE batch_id = $1 AND state = 'succeeded' AND found IS NULL ORDER BY closed_at DESC LIMIT $2`;
const foundSql = `
UPDATE replay_item i SET found = v.found, lookups = i.lookups + 1 FROM unnest($1::uuid[], $2::text[]) AS v(item_id, found) WHERE i.item_id = v.item_id`;
const countSql = 'UPDATE replay_batch SET canary_lookups = canary_lookups + $2 WHERE batch_id = $1';

export const canaryItems = ({ db }: Pick<BatchTools, 'db'>, batchId: string): Promise<CanaryItem[]> =>
  db.sql<CanaryItem>('operator.canary_items', canarySql, [batchId]);

export const toEnded = (item: CanaryItem): EndedItem => ({
  outcome: item.state,
  class: item.class ?? undefined,
  // A repair has no letter: whatever it fails with is new, and the same one again and again is reason enough to stop.
  letterClass: item.letter_class ?? item.class ?? '',
  code: item.code ?? undefined,
  durationMs: item.duration_ms ?? undefined,
});

/** The last succeeded items that were not looked up yet. */
export const sampleItems = ({ db }: Pick<BatchTools, 'db'>, batchId: string, count: number): Promise<CanaryItem[]> =>
  db.sql<CanaryItem>('operator.sample_items', sampleSql, [batchId, count]);

/** Asks the destinations now, through their connectors, what they hold of succeeded items, and notes it. In the order of the items. */
export async function lookUpItems(tools: BatchTools, batchId: string, items: readonly CanaryItem[]): Promise<VerifiedItem[]> {
  const found = new Map<string, VerifiedItem['found']>();
  const changes = await readChanges(
    tools.replays,
    items.flatMap(({ repair, ...item }) => (repair === null ? [] : { ...item, repair })),
  );
  let asked = 0;
  for (const [service, own] of groupBy(items, (item) => item.service)) {
    for (const page of pagesOf(own, lookupPage)) {
      const answers = (await tools.replays.get(service)?.lookUp(page)) ?? [];
      for (const [index, item] of page.entries()) {
        asked += answers[index]?.operations.filter(({ code }) => code !== 'no_lookup').length ?? 0;
        found.set(item.item_id, written(foundOf(item, answers[index]), changes.get(item.item_id)));
      }
    }
  }
  await tools.db.sql('operator.note_found', foundSql, [[...found.keys()], [...found.values()]]);
  await tools.db.sql('operator.count_lookups', countSql, [batchId, asked]);
  return items.map(({ item_id }) => ({ found: found.get(item_id) ?? 'unknown' }));
}

/** A record that was to be changed and is as it was compared was not written, whatever the answer said. */
function written(found: VerifiedItem['found'], changes: Changes | undefined): VerifiedItem['found'] {
  if (changes === undefined || found === 'several' || found === 'none') return found;
  if (changes.same.size > 0) return 'none';
  return changes.unread.size > 0 ? 'unknown' : found;
}

/** A person's contact may be changed by another lead meanwhile; its own record has the reference that the call was answered with. */
const contactKind = 'contact';

/** `one`: each operation that can be looked up is there exactly once, under the reference that we have. */
export function foundOf({ refs }: Pick<CanaryItem, 'refs'>, answer: LookedUp | undefined): VerifiedItem['found'] {
  if (answer === undefined || answer.operations.length === 0) return 'unknown';
  const asked = answer.operations.filter(({ code }) => code !== 'no_lookup');
  if (asked.length === 0) return 'no_lookup';
  const another = asked.some(
    ({ kind, result, ref }) => kind !== contactKind && result === 'found' && refs[kind] !== undefined && refs[kind] !== ref,
  );
  if (another || asked.some(({ result }) => result === 'several')) return 'several';
  if (asked.some(({ result }) => result === 'unknown')) return 'unknown';
  return asked.some(({ result }) => result === 'absent') ? 'none' : 'one';
}
