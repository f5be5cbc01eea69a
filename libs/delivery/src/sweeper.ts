import { setTimeout as delay } from 'node:timers/promises';
import type { DeliveryState } from '#contracts';
import { insertOutbox, type OutboxRow } from '#messaging';
import { crashPoint, type Database, type Logger, metrics, type Tx } from '#runtime';
import type { Lateness } from './lateness.js';
import { settle } from './sql/settle.js';
import { type StoredRow, storedHead, withOperations } from './sql/stored.js';
import {
  becomeSweeper,
  countUnfinished,
  expiredLeases,
  markWoken,
  type OverdueRow,
  orphanedRows,
  overdue,
  pastDeadline,
  type StateCount,
  sweepBatch,
} from './sql/sweep.js';
import { afterChange, outboxOf, type StoredChange, wakeUpRow } from './stored-change.js';
import type { StoredDelivery } from './stored-delivery.js';
import { deadlineChange, leaseChange, releaseChange } from './sweeper-changes.js';
import { among, readStanding, type Standing, sweepHolds } from './sweeper-holds.js';
import { Orphans, orphanChange } from './sweeper-orphans.js';
import type { SweptTarget } from './swept-target.js';

export interface SweeperOptions {
  db: Database;
  /** By `delivery.destination`. Rows of a destination that is not configured any more wait for their deadline, counted and logged. */
  target(destination: string): SweptTarget | undefined;
  /** What is announced of the end of such a row; `after` carries that state. Default: nothing. */
  orphaned?(after: StoredDelivery): OutboxRow[] | Promise<OutboxRow[]>;
  /** What the destinations are up to; default: what their rows say. */
  standing?(tx: Tx): Promise<Standing>;
  /** A holder died: what its delivery became, e.g. `uncertain`. Told once that is committed. */
  onLeaseExpired?(expired: { destination: string; state: DeliveryState; test: boolean }): void;
  /** A delivery was changed without a claim. Told once that is committed. */
  onChange?(after: StoredDelivery): void;
  relayWake: () => void;
  logger: Logger;
  /** Of the engines of this process; absent: nothing is known to be on its way. */
  lateness?: Pick<Lateness, 'behind'>;
  /** Default 5,000. */
  everyMs?: number;
  /** Released rows are due within this time, evenly; default 5,000, about as long as a destination's ramp. */
  spreadMs?: number;
}

type Reason = 'lease_expired' | 'deadline' | 'released';

interface Swept {
  changes: { reason: Reason; change: StoredChange }[];
  late: number;
  held: number;
  /** A batch was full: there may be more. */
  more: boolean;
}

/**
 * Changes rows that no record would wake any more: leases that ran out because their holder died, deadlines that passed, rows that must be
 * held or may go on, and due rows that nobody took. One process of a service sweeps at a time, all rows of the service, by an advisory lock
 * that lasts as long as its transaction.
 */
export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #stop = new AbortController();
  readonly #orphans: Orphans;
  #running: Promise<void> = Promise.resolve();

  constructor(options: SweeperOptions) {
    this.#options = options;
    this.#orphans = new Orphans({ logger: options.logger, isKnown: (destination) => options.target(destination) !== undefined });
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
    const swept = await this.#options.db.transaction(async (tx): Promise<Swept> => {
      if (await becomeSweeper(tx)) return this.#sweep(tx);
      forgetCounts();
      this.#orphans.forget();
      return { changes: [], late: 0, held: 0, more: false };
    });
    if (swept.changes.length + swept.late > 0) {
      crashPoint('swept');
      this.#options.relayWake();
    }
    this.#report(swept);
    return swept.more;
  }

  async #sweep(tx: Tx): Promise<Swept> {
    const counts = await countUnfinished(tx);
    this.#count(counts);
    // Left out below, so that they never fill a batch.
    const orphans = this.#orphans.find(counts);
    const lost = orphans.length === 0 ? [] : await orphanedRows(tx, orphans);
    const gone = await this.#endOrphans(tx, lost);
    const leases = await expiredLeases(tx, orphans);
    const ended = await this.#change(tx, leases, async (stored, target) =>
      leaseChange(stored, target, { attempts: await this.#attempts(stored, target), random: Math.random() }),
    );
    const deadlines = await pastDeadline(tx, orphans);
    const expired = await this.#change(tx, deadlines, deadlineChange);
    const standing = await (this.#options.standing ?? readStanding)(tx);
    const holds = await this.#holds(tx, standing);
    const isBlocked = among(standing.blocked, (destination) => this.#nameOf(destination));
    const blocked = counts.map(({ destination }) => destination).filter(isBlocked);
    const late = await overdue(tx, [...orphans, ...blocked], this.#options.lateness?.behind());
    await this.#wake(tx, late);
    const tagged = (reason: Reason, changes: StoredChange[]) => changes.map((change) => ({ reason, change }));
    return {
      changes: [...tagged('lease_expired', ended), ...tagged('deadline', [...gone, ...expired]), ...tagged('released', holds.released)],
      late: late.length,
      held: holds.held,
      more: holds.more || [lost, leases, deadlines, late].some(({ length }) => length === sweepBatch),
    };
  }

  /** Of the target of a destination; undefined: none is configured. */
  #nameOf(destination: string): string | undefined {
    return this.#options.target(destination)?.name;
  }

  /** The one that sweeps counts for all. */
  #count(counts: readonly StateCount[]): void {
    forgetCounts();
    const nameOf = (destination: string): string => this.#nameOf(destination) ?? 'unknown';
    for (const { destination, state, count, tests } of counts)
      metrics.deliveries.inc({ destination: nameOf(destination), state }, count - tests);
    // Of several under one name the oldest, which is set last. A source's clock may be ahead of ours.
    for (const { destination, state, oldest_s } of counts.toSorted((a, b) => (a.oldest_s ?? 0) - (b.oldest_s ?? 0))) {
      if (oldest_s !== null) metrics.deliveryOldestAge.set({ destination: nameOf(destination), state }, Math.max(oldest_s, 0));
    }
  }

  async #change(
    tx: Tx,
    rows: readonly StoredRow[],
    decide: (stored: StoredDelivery, target: SweptTarget) => StoredChange | Promise<StoredChange>,
  ): Promise<StoredChange[]> {
    const changes: StoredChange[] = [];
    const outbox: OutboxRow[] = [];
    for (const stored of await withOperations(tx, rows)) {
      const target = this.#options.target(stored.destination);
      if (target === undefined) continue;
      const change = await decide(stored, target);
      changes.push(change);
      outbox.push(...(await outboxOf(change, target, this.#options.logger)));
    }
    await settle(tx, changes, outbox);
    return changes;
  }

  async #endOrphans(tx: Tx, rows: readonly StoredRow[]): Promise<StoredChange[]> {
    const { orphaned = () => [], logger } = this.#options;
    const changes = (await withOperations(tx, rows)).map(orphanChange);
    const outbox: OutboxRow[] = [];
    // Nobody reads a topic of theirs: none of these changes has a wake-up or a dead letter.
    for (const change of changes)
      outbox.push(...(await outboxOf(change, { wakeTopic: () => '', dlqTopic: '', resolved: orphaned }, logger)));
    await settle(tx, changes, outbox);
    return changes;
  }

  /** A lead whose policy cannot be read any more keeps its attempts. */
  async #attempts(stored: StoredDelivery, target: SweptTarget): Promise<number> {
    try {
      return await target.attempts(stored);
    } catch (error) {
      this.#options.logger.error(
        { err: error, event_id: stored.eventId, destination: stored.destination },
        'policy of a stored lead not read',
      );
      return Number.POSITIVE_INFINITY;
    }
  }

  async #holds(tx: Tx, standing: Standing): Promise<{ released: StoredChange[]; held: number; more: boolean }> {
    const { spreadMs = 5_000 } = this.#options;
    const { held, free, probes, more } = await sweepHolds(tx, { standing, nameOf: (destination) => this.#nameOf(destination) });
    const released = await this.#change(tx, free, (stored) => releaseChange(stored, Math.floor(Math.random() * spreadMs)));
    const woken = await this.#change(tx, probes, (stored) => releaseChange(stored, 0));
    return { released: [...released, ...woken], held, more };
  }

  async #wake(tx: Tx, rows: readonly OverdueRow[]): Promise<void> {
    if (rows.length === 0) return;
    await markWoken(tx, rows);
    const wakeUps = rows.flatMap((row) => {
      const target = this.#options.target(row.destination);
      return target === undefined ? [] : [wakeUpRow(storedHead(row), target.wakeTopic, Math.max(row.due_ms, 0))];
    });
    await insertOutbox(tx, wakeUps);
  }

  #report({ changes, late, held }: Swept): void {
    const { logger, onChange, onLeaseExpired } = this.#options;
    for (const { reason, change } of changes) {
      const { stored, state } = change;
      metrics.sweeperWakeups.inc({ reason: change.wake ? reason : state });
      const fields = { event_id: stored.eventId, destination: stored.destination, decision: state, reason };
      if (reason === 'lease_expired') logger.warn({ ...fields, attempt_id: stored.attemptId }, 'lease ran out');
      else if (reason === 'deadline') logger.warn({ ...fields, deadline_at: stored.deadlineAt }, 'deadline passed');
      if (reason === 'lease_expired') onLeaseExpired?.({ destination: stored.destination, state, test: stored.test });
      onChange?.(afterChange(change));
    }
    if (late > 0) metrics.sweeperWakeups.inc({ reason: 'overdue' }, late);
    if (held > 0) logger.info({ count: held, state: 'held' }, 'deliveries held');
  }
}

/** Another process counts, or this one counts anew. */
function forgetCounts(): void {
  metrics.deliveries.reset();
  metrics.deliveryOldestAge.reset();
}
