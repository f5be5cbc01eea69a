import type { LookedUp, ReplayFacts } from '#delivery';
import { groupBy } from '../group-by.js';
import { pagesOf } from './facts.js';
import type { Around } from './machine/verdict.js';
import { lookupPage, type ReplayOwner } from './replay-owner.js';

/** The record that only this lead can have made; a person's contact may be another lead's. */
const contactKind = 'contact';

export interface Found {
  found: NonNullable<Around['found']>;
  ref?: string;
}

/** A dry run asks a destination this much at most: it is not to spend the quota of the leads that come in. */
const mostLookups = 500;
const longestMs = 10_000;

/** What one dry run may still look up. */
export class LookupBudget {
  made = 0;
  leftOut = 0;
  private readonly endsAt = performance.now() + longestMs;

  /** How many of so many may be looked up. */
  take(wanted: number): number {
    const allowed = performance.now() < this.endsAt ? Math.min(wanted, mostLookups - this.made) : 0;
    this.made += allowed;
    this.leftOut += wanted - allowed;
    return allowed;
  }
}

interface Doubtful {
  item: { item_id: string; event_id: string; destination: string; service: string };
  facts?: ReplayFacts;
}

const left = ({ facts }: Doubtful) => facts?.operations.filter(({ state }) => state !== 'succeeded') ?? [];

/** Asks the destinations what they hold of items, those first that may have been executed. By item id; what could not be asked is left out. */
export async function lookUpDoubtful(
  replays: ReadonlyMap<string, ReplayOwner>,
  items: readonly Doubtful[],
  budget: LookupBudget,
): Promise<ReadonlyMap<string, Found>> {
  const able = items.filter((one) => left(one).some(({ kind }) => kind !== contactKind && one.facts?.lookup.includes(kind)));
  const doubtfulFirst = able.toSorted((a, b) => Number(isDoubtful(b)) - Number(isDoubtful(a)));
  const chosen = doubtfulFirst.slice(0, budget.take(able.length));
  const found = new Map<string, Found>();
  for (const [service, own] of groupBy(chosen, ({ item }) => item.service)) {
    const owner = replays.get(service);
    for (const page of pagesOf(own, lookupPage)) {
      const answers = (await owner?.lookUp(page.map(({ item }) => item))) ?? [];
      for (const [index, one] of page.entries()) found.set(one.item.item_id, foundOf(one, answers[index]));
    }
  }
  return found;
}

const isDoubtful = (one: Doubtful): boolean => left(one).some(({ doubtful_since }) => doubtful_since !== undefined);

/** Of what has not succeeded here: one record of it is enough to say that it is there. */
function foundOf(one: Doubtful, answer: LookedUp | undefined): Found {
  const keys = new Set(left(one).flatMap(({ kind, operation_key }) => (kind === contactKind ? [] : operation_key)));
  const asked = answer?.operations.filter(({ operation_key, code }) => keys.has(operation_key) && code !== 'no_lookup') ?? [];
  const several = asked.some(({ result }) => result === 'several');
  const hit = asked.find(({ result }) => result === 'found');
  if (several) return { found: 'several' };
  if (hit !== undefined) return { found: 'one', ref: hit.ref };
  return { found: asked.length > 0 && asked.every(({ result }) => result === 'absent') ? 'none' : 'unknown' };
}
