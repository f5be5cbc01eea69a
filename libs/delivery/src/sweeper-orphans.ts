import { type DeliveryState, isFinal } from '#contracts';
import { type Logger, metrics } from '#runtime';
import type { StateCount } from './sql/sweep.js';
import type { StoredChange } from './stored-change.js';
import type { StoredDelivery, StoredOperation } from './stored-delivery.js';
import { deadlineChange } from './sweeper-changes.js';

const open: readonly DeliveryState[] = ['in_flight', 'pending', 'waiting', 'held'];
const sayAgainMs = 60_000;
const noLookup = { timeoutMs: 0, verification: { maxExecutionMs: 0, searchLagMs: 0, horizonMs: 0 } };

export interface OrphanOptions {
  isKnown(destination: string): boolean;
  logger: Logger;
}

/** Rows of destinations that the site file has no more: nothing is sent for them, and somebody has to know. */
export class Orphans {
  readonly #options: OrphanOptions;
  #saidAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: OrphanOptions) {
    this.#options = options;
  }

  /** Their destinations; those with open rows are counted, and named in the log once a minute. */
  find(counts: readonly StateCount[]): string[] {
    const { isKnown, logger } = this.#options;
    const orphaned = counts.filter(({ destination }) => !isKnown(destination));
    const waiting = orphaned.filter(({ state }) => open.includes(state));
    this.forget();
    for (const { destination, count } of waiting) metrics.orphaned.inc({ destination }, count);
    const destinations = [...new Set(waiting.map(({ destination }) => destination))];
    if (destinations.length > 0 && performance.now() - this.#saidAtMs >= sayAgainMs) {
      this.#saidAtMs = performance.now();
      const count = waiting.reduce((sum, one) => sum + one.count, 0);
      logger.error({ destinations, count }, 'open rows of destinations that the site file does not have; they end at their deadline');
    }
    return [
      ...new Set(orphaned.filter(({ state }) => open.includes(state) || state === 'uncertain').map(({ destination }) => destination)),
    ];
  }

  /** Another process counts. */
  forget(): void {
    metrics.orphaned.reset();
  }
}

/**
 * What such a row becomes at its deadline: expired, or raised as uncertain where a call was under way or may have been executed. There is no dead-letter topic for it: the
 * operator finds it when it asks what is unresolved.
 */
export function orphanChange(stored: StoredDelivery): StoredChange {
  const code = 'unknown_destination';
  const doubtful = stored.operations.filter(isDoubtful);
  if (doubtful.length > 0) {
    const operations = doubtful.map((operation) => ({
      ...{ operation, state: 'uncertain' as const, class: operation.class },
      ...{ code: operation.code ?? 'lease_expired', keepsSent: true },
    }));
    return { stored, state: 'uncertain', class: 'unverified_write', code, operations, dueInMs: 0, raise: true };
  }
  const { deadLetter, ...ended } = deadlineChange(stored, noLookup);
  return deadLetter === undefined ? ended : { ...ended, code };
}

const isDoubtful = ({ state, sendingAtMs }: StoredOperation): boolean =>
  state === 'in_flight' || state === 'uncertain' || (!isFinal(state) && sendingAtMs !== undefined);
