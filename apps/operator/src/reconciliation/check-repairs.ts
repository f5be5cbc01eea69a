import type { ReplayFacts } from '#delivery';
import { factsOf } from '../batches/facts.js';
import type { LookupBudget } from '../batches/look-up.js';
import type { Verdict } from '../batches/machine/verdict.js';
import type { BatchTools } from '../batches/tools.js';
import type { OwningService } from '../dead-letters/letter.js';
import { missingFromSite } from '../dead-letters/sources.js';
import { readDiscrepancies } from './discrepancies.js';
import { everybody } from './everybody.js';
import { judgeKnown, judgeSeen, type RepairFacts, type Seen } from './judge-repair.js';
import { lookUpAll } from './look-up-all.js';
import { readChanges } from './read-changes.js';
import type { RepairPlan } from './repair-plan.js';

/** An item that repairs what differs at its destination. */
export interface RepairListed {
  item_id: string;
  event_id: string;
  destination: string;
  service: OwningService;
  other_batch: string | null;
  repair: RepairPlan;
}

export interface CheckedRepair<T> {
  item: T;
  verdict: Verdict;
  /** The destination was asked about it. */
  looked: boolean;
  facts?: ReplayFacts;
}

export interface RepairContext {
  held: ReadonlySet<string>;
  budget: Pick<LookupBudget, 'take'>;
  now?: Date;
}

/**
 * The dry run of repairs: asks the reconciler whether each discrepancy still stands, the owners what their deliveries are now, and the destinations what
 * they hold and who has changed it. In the order of the items. Rejects while one of the services does not answer.
 */
export async function checkRepairs<T extends RepairListed>(
  tools: BatchTools,
  items: readonly T[],
  { held, budget }: RepairContext,
): Promise<CheckedRepair<T>[]> {
  if (items.length === 0) return [];
  const facts = await repairFacts(tools, items, held);
  const known = items.map((item, index): CheckedRepair<T> & { facts?: ReplayFacts } => {
    const own = facts[index] as RepairFacts;
    return { item, verdict: judgeKnown(own) ?? judgeSeen(own, nothingSeen), looked: false, facts: own.delivery };
  });
  const open = known.flatMap((one, index) =>
    judgeKnown(facts[index] as RepairFacts) === undefined ? [{ one, own: facts[index] as RepairFacts }] : [],
  );
  const asked = open.slice(0, budget.take(open.length));
  const looked = await lookUpAll(
    tools.replays,
    asked.map(({ one }) => one.item),
  );
  const read = await readChanges(
    tools.replays,
    asked.map(({ one }) => one.item),
  );
  for (const { one, own } of asked) {
    one.looked = true;
    const changes = read.get(one.item.item_id) ?? nothingSeen;
    one.verdict = judgeSeen(own, { ...changes, looked: looked.get(one.item.item_id) });
  }
  return known;
}

const nothingSeen: Seen = { changed: new Set(), unread: new Set() };

async function repairFacts(tools: BatchTools, items: readonly RepairListed[], held: ReadonlySet<string>): Promise<RepairFacts[]> {
  const { site, replays, vault, reconciler } = tools;
  const ids = [...new Set(items.flatMap(({ repair }) => repair.steps.map(({ discrepancy_id }) => discrepancy_id)))];
  const [deliveries, found] = await Promise.all([factsOf(replays, items), readDiscrepancies({ reconciler }, ids, everybody)]);
  const payloads = await vault.payloads(deliveries.flatMap((one) => one?.lead_ref ?? []));
  const byId = new Map(found.map((one) => [one.discrepancy_id, one]));
  return items.map(({ service, destination, other_batch, repair }, index): RepairFacts => {
    const delivery = deliveries[index];
    const missing = missingFromSite(site, service, destination);
    return {
      plan: repair,
      notReplayable: missing === undefined ? undefined : `${missing} is not in the site file any more`,
      otherBatch: other_batch ?? undefined,
      delivery,
      discrepancies: repair.steps.flatMap(({ discrepancy_id }) => byId.get(discrepancy_id) ?? []),
      held: held.has(destination),
      payload: (delivery && payloads.get(delivery.lead_ref)) ?? 'kept',
      requiresConsent: site.destinations[destination]?.requiresConsent ?? false,
    };
  });
}
