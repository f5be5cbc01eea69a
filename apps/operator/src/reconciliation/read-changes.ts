import { changedSince } from '#delivery';
import { pagesOf } from '../batches/facts.js';
import { lookupPage, type RecordState, type ReplayOwner } from '../batches/replay-owner.js';
import { groupBy } from '../group-by.js';
import type { RepairPlan, RepairStep } from './repair-plan.js';

/** An item whose plan says which records are to be changed. */
export interface ToRead {
  item_id: string;
  service: string;
  destination: string;
  repair: RepairPlan;
}

/** Operation keys of one item. */
export interface Changes {
  /** Somebody has changed the record since it was compared. */
  changed: Set<string>;
  /** Nobody can say. */
  unread: Set<string>;
  /** It is as it was compared. */
  same: Set<string>;
}

/** Asks the destinations whether anybody has changed, since they were compared, the records that these items change. By item id. */
export async function readChanges(
  replays: ReadonlyMap<string, Pick<ReplayOwner, 'read'>>,
  items: readonly ToRead[],
): Promise<ReadonlyMap<string, Changes>> {
  const wanted = items.flatMap((item) => item.repair.steps.filter(({ repair }) => repair === 'update').map((step) => ({ item, step })));
  const found = new Map<string, Changes>();
  for (const [service, own] of groupBy(wanted, ({ item }) => item.service)) {
    for (const page of pagesOf(own, lookupPage)) {
      const asked = page.map(({ item, step }) => ({ destination: item.destination, kind: step.kind, ref: step.ref ?? '' }));
      const answers = (await replays.get(service)?.read(asked)) ?? [];
      for (const [index, one] of page.entries()) note(found, one, answers[index]);
    }
  }
  return found;
}

function note(found: Map<string, Changes>, { item, step }: { item: ToRead; step: RepairStep }, now: RecordState | undefined): void {
  const changes = found.get(item.item_id) ?? { changed: new Set(), unread: new Set(), same: new Set() };
  found.set(item.item_id, changes);
  changes[changedSince(now, step.compared)].add(step.operation_key);
}
