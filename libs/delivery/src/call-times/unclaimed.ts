import type { DestinationFigures } from './destination-figures.js';

export interface UnclaimedSum {
  /** Leads, each once. Where not all records were looked at: at most so many. */
  count: number;
  /** When the oldest of those that were looked at was submitted, epoch milliseconds; absent: none was. */
  oldestAtMs?: number;
}

/** Leads of one destination that lie on its service's topic and that no process has taken up: they have no row yet. */
export interface UnclaimedLeads {
  /** Every record was looked at. False: those that were not are counted by their offsets, also where they are for other destinations. */
  exact: boolean;
  all: UnclaimedSum;
  /** The same without test leads. */
  real: UnclaimedSum;
}

/**
 * Why it cannot be told: Kafka does not answer (`kafka_away`) or refuses (`kafka_refused`), or the destination's group has no committed
 * position to count from (`no_position`).
 */
export const unclaimedUnknowns = ['kafka_away', 'kafka_refused', 'no_position'] as const;
export type UnclaimedUnknown = (typeof unclaimedUnknowns)[number];
export type Unclaimed = UnclaimedLeads | { unknown: UnclaimedUnknown };

/** What lies unclaimed, of every destination of a service, by name. Never waits long for Kafka. Rejects with DatabaseUnavailable. */
export type ReadUnclaimed = () => Promise<ReadonlyMap<string, Unclaimed>>;

/** What is unclaimed, as figures of destinations have it. */
export function unclaimedFigures(unclaimed: Unclaimed): NonNullable<DestinationFigures['unclaimed']> {
  if ('unknown' in unclaimed) return { unknown: unclaimed.unknown };
  const { exact, all } = unclaimed;
  const oldest = all.oldestAtMs === undefined ? {} : { oldest_at: new Date(all.oldestAtMs).toISOString() };
  return { count: all.count, exact, ...oldest };
}
