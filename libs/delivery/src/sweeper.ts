import { setTimeout as delay } from 'node:timers/promises';
import type { DeliveryState } from '#contracts';
import { type Database, type Logger, metrics } from '#runtime';
import { expireLease } from './policy/expire-lease.js';
import {
  becomeSweeper,
  countUnfinished,
  type Expired,
  expiredLeases,
  operationsOf,
  overdue,
  type StateCount,
  type SweptOperation,
  type SweptRow,
  sweepBatch,
  wake,
  writeExpired,
} from './sql/sweep.js';

export interface SweptTarget {
  /** Label of metrics: a destination's name, or `notifier`. */
  name: string;
  nativeIdempotency: boolean;
  /** The group's smallest retry tier: where wake-ups go. */
  wakeTopic: string;
}

export interface SweeperOptions {
  db: Database;
  /** By `delivery.destination`. Rows of a destination that is not configured any more are left alone and logged. */
  target(destination: string): SweptTarget | undefined;
  /** A holder died: what its delivery became, e.g. `uncertain`. Told once that is committed. */
  onLeaseExpired?(expired: { destination: string; state: DeliveryState }): void;
  relayWake: () => void;
  logger: Logger;
  /** Default 5,000. */
  everyMs?: number;
}

/**
 * Finds rows that no record would wake any more: leases that ran out because their holder died, and due rows that nobody took. One
 * process of a service sweeps at a time, all rows of the service, by an advisory lock that lasts as long as its transaction.
 */
export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #stop = new AbortController();
  /** Destinations of rows that nobody is configured for: read once, then left out, so that they never fill a batch. */
  readonly #unknown = new Set<string>();
  #running: Promise<void> = Promise.resolve();

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  /** Sweeps at once, then again and again. */
  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        while ((await this.sweep()) && !signal.aborted);
      } catch (error) {
        this.#options.logger.warn({ err: error }, 'sweep failed');
      }
      await delay(this.#options.everyMs ?? 5_000, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** One round. True when a batch was full: there may be more. */
  async sweep(): Promise<boolean> {
    const { db, relayWake } = this.#options;
    const { taken, late, more } = await db.transaction(async (tx) => {
      if (!(await becomeSweeper(tx))) return this.#standBy();
      const expired = this.#known(await expiredLeases(tx, [...this.#unknown]));
      const taken = expired.rows.length === 0 ? [] : this.#decide(expired.rows, await operationsOf(tx, expired.rows));
      if (taken.length > 0) await writeExpired(tx, taken);
      const late = this.#known(await overdue(tx, [...this.#unknown]));
      const crashed = taken.filter(({ after }) => after.wake).map(({ row }) => row);
      await wake(tx, [...crashed, ...late.rows], (row) => this.#options.target(row.destination)?.wakeTopic ?? '');
      this.#count(await countUnfinished(tx));
      return { taken, late: late.rows.length, more: expired.more || late.more };
    });
    this.#report(taken, late);
    if (taken.length + late > 0) relayWake();
    return more;
  }

  #standBy(): { taken: Expired[]; late: number; more: boolean } {
    metrics.deliveries.reset();
    return { taken: [], late: 0, more: false };
  }

  /** The one that sweeps counts for all. */
  #count(counts: readonly StateCount[]): void {
    metrics.deliveries.reset();
    for (const { destination, state, count } of counts) {
      metrics.deliveries.inc({ destination: this.#options.target(destination)?.name ?? 'unknown', state }, count);
    }
  }

  /** `more`: the batch was full, and the next one is another. */
  #known(rows: SweptRow[]): { rows: SweptRow[]; more: boolean } {
    const known = rows.filter((row) => this.#options.target(row.destination) !== undefined);
    if (known.length < rows.length) {
      const unknown = new Set(rows.filter((row) => !known.includes(row)).map((row) => row.destination));
      for (const destination of unknown) this.#unknown.add(destination);
      this.#options.logger.warn({ destinations: [...unknown] }, 'open rows of unknown destinations; they are left alone');
    }
    return { rows: known, more: rows.length === sweepBatch };
  }

  #decide(rows: readonly SweptRow[], operations: readonly SweptOperation[]): Expired[] {
    const byKey = new Map(operations.map((operation) => [operation.operation_key, operation]));
    return rows.map((row) => {
      const own = row.operation_keys.map((key) => byKey.get(key)).filter((operation) => operation !== undefined);
      const leased = own.map(({ operation_key, state, marked }) => ({ operationKey: operation_key, state, marked }));
      const after = expireLease(leased, this.#options.target(row.destination)?.nativeIdempotency ?? false);
      return { row, after, attempts: new Map(own.map((operation) => [operation.operation_key, operation.attempts])) };
    });
  }

  #report(taken: readonly Expired[], late: number): void {
    for (const { row, after } of taken) {
      metrics.sweeperWakeups.inc({ reason: after.wake ? 'lease_expired' : 'uncertain' });
      const fields = { event_id: row.event_id, destination: row.destination, attempt_id: row.attempt_id };
      this.#options.logger.warn({ ...fields, decision: after.state, reason: 'lease_expired' }, 'lease ran out');
      this.#options.onLeaseExpired?.({ destination: row.destination, state: after.state });
    }
    if (late > 0) metrics.sweeperWakeups.inc({ reason: 'overdue' }, late);
  }
}
