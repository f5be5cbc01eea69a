import type { LookedUp } from '#delivery';
import { pagesOf } from '../batches/facts.js';
import { type ItemName, lookupPage, type ReplayOwner } from '../batches/replay-owner.js';
import { groupBy } from '../group-by.js';

/** Asks the destinations what they hold of these items now. By item id. */
export async function lookUpAll(
  replays: ReadonlyMap<string, Pick<ReplayOwner, 'lookUp'>>,
  items: readonly (ItemName & { service: string })[],
): Promise<ReadonlyMap<string, LookedUp>> {
  const found = new Map<string, LookedUp>();
  for (const [service, own] of groupBy(items, (item) => item.service)) {
    for (const page of pagesOf(own, lookupPage)) {
      const answers = (await replays.get(service)?.lookUp(page)) ?? [];
      // In the order of the items.
      answers.forEach((answer, index) => void found.set(page[index]?.item_id ?? '', answer));
    }
  }
  return found;
}
