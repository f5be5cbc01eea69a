import { type BalanceDay, type DeliveryFacts, placeOf } from '#delivery';
import { dayOf } from './day-of.js';

export type Tallied = Omit<BalanceDay, 'balanced' | 'taken_at' | 'closed'> & {
  /** All its deliveries have ended. */
  final: boolean;
};

const finalPlaces: readonly string[] = ['delivered', 'dead', 'expired', 'discarded', 'erased'];

/** Adds up deliveries by the day of their acceptance, their source and their destination. */
export class Tally {
  private readonly rows = new Map<string, Tallied>();

  add(facts: readonly DeliveryFacts[]): void {
    for (const one of facts) this.count(one);
  }

  /** All rows, by day, source and destination. */
  list(): Tallied[] {
    return [...this.rows.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
  }

  private count(facts: DeliveryFacts): void {
    const { event_id, destination, organization = '', source = '' } = facts;
    const day = dayOf(event_id);
    const key = JSON.stringify([day, organization, source, destination]);
    const row = this.rows.get(key) ?? {
      day,
      organization,
      source,
      destination,
      accepted: 0,
      found: {},
      missing: 0,
      incomplete: 0,
      final: true,
    };
    this.rows.set(key, row);
    const place = placeOf(facts);
    row.accepted += 1;
    if (place.kind === 'missing' || place.kind === 'incomplete') row[place.kind] += 1;
    else {
      const name = place.kind === 'found' ? place.state : place.kind;
      row.found[name] = (row.found[name] ?? 0) + 1;
    }
    row.final &&= place.kind === 'found' && finalPlaces.includes(place.state);
  }
}
