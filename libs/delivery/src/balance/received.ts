/**
 * What came in from one source on one day, as intake counted it: everything that was settled, in the transaction that settled it. What got no
 * answer, or the answer to come again (rate limit, no database), is not received.
 */
export interface ReceivedDay {
  /** Both empty: the record named no configured source. */
  organization: string;
  source: string;
  /** UTC, `2026-06-01`, by intake's database clock. */
  day: string;
  received: number;
  /** Became leads. */
  accepted: number;
  /** Said again what was accepted before, also where a record was read again. */
  repeats: number;
  /** Used an id again for other content. */
  conflicts: number;
  /** Refused for good. */
  rejected: number;
  /** Leads of that day that are there as rows; absent for days from which leads are purged, and for those of the upgrade to a release that counts. */
  leads?: number;
}

/** Today and the seven days before, each as what one request asks for: a day may hold a million leads. */
export function daysOfBalance(now: Date): { from: string; to: string }[] {
  const today = Math.floor(now.getTime() / dayMs);
  return Array.from({ length: 8 }, (_, index) => ({ from: dayOf(today - 7 + index), to: dayOf(today - 6 + index) }));
}

const dayMs = 86_400_000;
const dayOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10);

/** Answer of intake's POST /internal/v1/received:days {from?, to?}; both are days, `to` is not part of it. Default: the last 8, today's included. */
export interface ReceivedAnswer {
  from: string;
  to: string;
  /** By day, organization and source. */
  items: ReceivedDay[];
}

/** All sources and days of a window. */
export interface ReceivedSums {
  received: number;
  accepted: number;
  repeats: number;
  conflicts: number;
  rejected: number;
  /** Days of a source that do not add up. */
  differences: ReceivedDay[];
}

/** Whether a day adds up: nothing received without an outcome, and a lead for whatever was accepted. Pure. */
export function addsUp({ received, accepted, repeats, conflicts, rejected, leads }: ReceivedDay): boolean {
  return received === accepted + repeats + conflicts + rejected && (leads === undefined || leads === accepted);
}

/** Adds up all days of all sources. Pure. */
export function sumReceived(days: readonly ReceivedDay[]): ReceivedSums {
  const sum = (of: (day: ReceivedDay) => number): number => days.reduce((total, day) => total + of(day), 0);
  return {
    received: sum(({ received }) => received),
    accepted: sum(({ accepted }) => accepted),
    repeats: sum(({ repeats }) => repeats),
    conflicts: sum(({ conflicts }) => conflicts),
    rejected: sum(({ rejected }) => rejected),
    differences: days.filter((day) => !addsUp(day)),
  };
}
