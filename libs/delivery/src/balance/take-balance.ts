import { setTimeout as delay } from 'node:timers/promises';
import type { DeliveryStateItem } from '../states-route.js';
import type { AcceptedItem, AcceptedPage, BalanceSources } from './balance-sources.js';
import { type Balance, BalanceSum, type DeliveryFacts, placeOf } from './compare.js';
import { daysOfBalance, type ReceivedDay } from './received.js';

export interface BalanceOptions {
  /** Between two looks for a delivery that was found nowhere; default 1,000. */
  pauseMs?: number;
  /** Handed every delivery with what was said of it, a page at a time, before the balance is whole. */
  onFacts?(facts: readonly DeliveryFacts[]): void;
}

/**
 * A delivery moves on while it is looked for: from the outbox over the topic into its owner's table. What was found nowhere is looked for
 * again this often before it is called missing.
 */
const looks = 3;
/** Pages whose deliveries are looked up at once, while the next ones are listed. */
const maxPagesAtOnce = 4;
/** Ids in one request, by the internal API's contract. */
const maxItems = 500;

/**
 * One balance: every delivery accepted in the window before now, each looked for at its owner, after it was listed, then at intake; and what was
 * received against what became of it.
 * Throws InternalUnavailable where a service cannot be asked (there is no balance then), InternalRefused.
 */
export async function takeBalance(sources: BalanceSources, { pauseMs = 1_000, onFacts }: BalanceOptions = {}): Promise<Balance> {
  const sum = new BalanceSum();
  const atWork = new Set<Promise<void>>();
  const look = (page: AcceptedPage): void => {
    const found = lookFor(sources, page.items, pauseMs).then((some) => {
      sum.add(some);
      onFacts?.(some);
    });
    const settled = found.finally(() => atWork.delete(settled));
    // Its failure is met by whoever waits for it below; until then it is no stray rejection.
    settled.catch(() => undefined);
    atWork.add(settled);
  };
  let page = await sources.accepted({});
  const { to } = page;
  look(page);
  while (page.next !== undefined) {
    if (atWork.size >= maxPagesAtOnce) await Promise.race(atWork);
    page = await sources.accepted({ to, after: page.next });
    look(page);
  }
  await Promise.all(atWork);
  return sum.balance(to, await received(sources, to));
}

async function received(sources: BalanceSources, to: string): Promise<ReceivedDay[]> {
  const days: ReceivedDay[] = [];
  for (const day of daysOfBalance(new Date(to))) days.push(...(await sources.received(day)));
  return days;
}

/** Everything that is said of the deliveries of one page. */
async function lookFor(sources: BalanceSources, listed: readonly AcceptedItem[], pauseMs: number): Promise<DeliveryFacts[]> {
  const done: DeliveryFacts[] = [];
  let open = listed;
  for (let round = 1; open.length > 0; round++) {
    if (round > 1) await delay(pauseMs);
    const facts = await lookOnce(sources, open);
    const isLast = round === looks;
    const settled = facts.filter((one) => isLast || placeOf(one).kind !== 'missing');
    done.push(...settled);
    const names = new Set(settled.map(nameOf));
    open = open.filter((item) => !names.has(nameOf(item)));
  }
  return done;
}

/** The owner is asked first: what it gains in between is still seen at intake as young, never the other way round. */
async function lookOnce(sources: BalanceSources, items: readonly AcceptedItem[]): Promise<DeliveryFacts[]> {
  const owned = await ownersWord(sources, items);
  const facts = items.map((item): DeliveryFacts => {
    const { event_id, destination, state, own, organization, source } = item;
    const owner = own ? { state, complete: true } : owned.get(nameOf(item));
    const whose = { ...(organization && { organization }), ...(source && { source }) };
    return { event_id, destination, held: false, ...whose, ...(owner && { owner }) };
  });
  const lacking = facts.filter(({ owner }) => owner === undefined);
  if (lacking.length === 0) return facts;
  const held = await sources.held();
  for (const part of chunks(lacking)) {
    const places = await sources.places(part);
    for (const [index, fact] of part.entries()) Object.assign(fact, { intake: places[index], held: held.has(fact.destination) });
  }
  return facts;
}

async function ownersWord(
  sources: BalanceSources,
  items: readonly AcceptedItem[],
): Promise<Map<string, NonNullable<DeliveryFacts['owner']>>> {
  const eventIds = [...new Set(items.filter(({ own }) => !own).map(({ event_id }) => event_id))];
  const answers = await Promise.all(chunks(eventIds).map((part) => sources.states(part)));
  const said = answers.flatMap((answer) =>
    answer.items.flatMap(({ event_id, deliveries }) => deliveries.map((delivery) => [event_id, delivery] as const)),
  );
  return new Map(said.map(([event_id, delivery]) => [nameOf({ event_id, destination: delivery.destination }), wordOf(delivery)]));
}

function wordOf({ state, complete }: DeliveryStateItem): NonNullable<DeliveryFacts['owner']> {
  return { state, complete };
}

const nameOf = ({ event_id, destination }: { event_id: string; destination: string }): string => `${event_id} ${destination}`;

function chunks<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / maxItems) }, (_, index) => items.slice(index * maxItems, (index + 1) * maxItems));
}
