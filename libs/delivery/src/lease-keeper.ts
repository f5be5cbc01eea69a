import { type Database, type Logger, metrics } from '#runtime';
import { renew } from './sql/leases.js';
import type { Work } from './work.js';

export interface LeaseKeeperOptions {
  db: Database;
  target: string;
  leaseMs: number;
  logger: Logger;
}

/** Rows of one renewal statement at most. */
const maxRows = 1_000;

/**
 * Renews what this process holds, every third of the lease, leaving out what is younger than a sixth: no lease gets older than half.
 * A renewal that fails changes nothing here; what its age makes unsafe to send is not sent (see `Work.leaseUntil`).
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #held = new Set<Work<unknown>>();
  readonly #timer: NodeJS.Timeout;
  #renewing: Promise<void> = Promise.resolve();

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
    // From 0 on, so that the first one counts as an increase.
    metrics.leasesLost.inc({ destination: options.target }, 0);
    this.#timer = setInterval(() => {
      this.#renewing = this.#renewing.then(() => this.renewDue());
    }, options.leaseMs / 3);
    this.#timer.unref();
  }

  hold(work: Work<unknown>): void {
    this.#held.add(work);
  }

  drop(work: Work<unknown>): void {
    this.#held.delete(work);
  }

  /** One round; called by the timer. */
  async renewDue(): Promise<void> {
    const { leaseMs, logger } = this.#options;
    const now = performance.now();
    const due = [...this.#held].filter((work) => now - work.leasedAt >= leaseMs / 6);
    for (let from = 0; from < due.length; from += maxRows) {
      try {
        await this.#renew(due.slice(from, from + maxRows));
      } catch (error) {
        logger.warn({ err: error, destination: this.#options.target }, 'leases not renewed');
        return;
      }
    }
  }

  async #renew(works: Work<unknown>[]): Promise<void> {
    const { db, leaseMs, target } = this.#options;
    const startedAt = performance.now();
    const kept = await renew(db, works, leaseMs);
    for (const work of works) {
      if (kept.has(work.attemptId)) {
        work.leasedAt = startedAt;
        work.leaseUntil = startedAt + leaseMs;
      } else if (this.#held.has(work) && !work.lost) {
        work.lost = true;
        metrics.leasesLost.inc({ destination: target });
      }
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
  }
}
