import type { DeliveryState } from '#contracts';
import { type ReceivedDay, type ReceivedSums, sumReceived } from './received.js';

/** The unit of the balance. */
export interface DeliveryId {
  event_id: string;
  destination: string;
}

/** Where intake sees a delivery that its owner does not report. */
export const intakePlaces = ['outbox', 'parked', 'young', 'overdue', 'claimed'] as const;
/**
 * - `outbox`: its record waits to be published, `parked`: its record cannot be published
 * - `young`: announced so lately that nobody need have claimed it
 * - `overdue`: announced long ago and claimed by nobody
 * - `claimed`: its owner once had it
 */
export type IntakePlace = (typeof intakePlaces)[number];

/** Everything that was said of one accepted delivery. */
export interface DeliveryFacts extends DeliveryId {
  /** What the owner reports; absent: it has no such delivery. `complete`: its operations are those it declared. */
  owner?: { state: DeliveryState; complete: boolean };
  /** Asked only where the owner reports none. */
  intake?: IntakePlace;
  /** The destination takes nothing at the moment. */
  held: boolean;
  /** Whose lead it is, as far as that is known. */
  organization?: string;
  source?: string;
}

/** The one place where a delivery is. */
export type Place =
  | { kind: 'found'; state: DeliveryState }
  | { kind: 'incomplete' | 'outbox' | 'parked' | 'unclaimed_young' | 'unclaimed_held' | 'missing' };

/** What was accepted against what was found. Every accepted delivery counts in exactly one of the fields below `accepted`. */
export interface Balance {
  /** Nothing is missing or incomplete, and what was received adds up. */
  balanced: boolean;
  /** End of the window and time of the left side, ISO 8601, intake's database clock. */
  at: string;
  accepted: number;
  /** By the state that the owner reports. */
  found: Partial<Record<DeliveryState, number>>;
  outbox: number;
  parked: number;
  unclaimed_young: number;
  unclaimed_held: number;
  /** Found nowhere. */
  missing: DeliveryId[];
  /** The owner has them, but not all their operations. */
  incomplete: DeliveryId[];
  /** What came in on the last 8 days, and what became of it. */
  received: ReceivedSums;
}

/** Decides where a delivery is. What the owner says goes before everything else. Pure. */
export function placeOf({ owner, intake, held }: DeliveryFacts): Place {
  if (owner) return owner.complete ? { kind: 'found', state: owner.state } : { kind: 'incomplete' };
  if (intake === 'outbox' || intake === 'parked') return { kind: intake };
  if (intake === 'young') return { kind: 'unclaimed_young' };
  if (intake === 'overdue' && held) return { kind: 'unclaimed_held' };
  return { kind: 'missing' };
}

/** Adds up the places of all accepted deliveries, and what was received. Keeps the names of those alone that a person has to look for. */
export class BalanceSum {
  private readonly sum: Omit<Balance, 'at' | 'balanced' | 'received'> = {
    accepted: 0,
    found: {},
    outbox: 0,
    parked: 0,
    unclaimed_young: 0,
    unclaimed_held: 0,
    missing: [],
    incomplete: [],
  };

  add(deliveries: readonly DeliveryFacts[]): void {
    for (const delivery of deliveries) this.count(delivery, placeOf(delivery));
  }

  balance(at: string, days: readonly ReceivedDay[]): Balance {
    const received = sumReceived(days);
    const balanced = [this.sum.missing, this.sum.incomplete, received.differences].every((list) => list.length === 0);
    return { balanced, at, ...this.sum, received };
  }

  private count({ event_id, destination }: DeliveryId, place: Place): void {
    const { sum } = this;
    sum.accepted += 1;
    switch (place.kind) {
      case 'found':
        sum.found[place.state] = (sum.found[place.state] ?? 0) + 1;
        return;
      case 'missing':
      case 'incomplete':
        sum[place.kind].push({ event_id, destination });
        return;
      default:
        sum[place.kind] += 1;
    }
  }
}
