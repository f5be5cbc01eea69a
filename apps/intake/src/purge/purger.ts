import { setTimeout as delay } from 'node:timers/promises';
import { longestVaultMs } from '#contracts';
import { type Database, DatabaseUnavailable, type Logger } from '#runtime';
import { purgeBatch, purgeJobs } from './purge-jobs.js';

interface PurgerOptions {
  db: Database;
  logger: Logger;
  /** How long payloads are kept from acceptance; default and at most 400 days. */
  vaultMs?: number;
  /** Between two rounds; default 10 minutes. */
  everyMs?: number;
  /** Between two batches, so that leads go first; default 50. */
  pauseMs?: number;
}

/** Deletes what has been kept long enough, a small batch at a time. Two instances may purge at once: each takes rows of its own. */
export class Purger {
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly options: PurgerOptions) {}

  start(): void {
    this.running = this.loop();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** One round over every table. Gives how many rows went, by table. Throws DatabaseUnavailable. */
  async purge(): Promise<Record<string, number>> {
    const { db, logger, vaultMs = longestVaultMs, pauseMs = 50 } = this.options;
    const purged: Record<string, number> = {};
    for (const { table, name = table, sql, values = [] } of purgeJobs(vaultMs)) {
      let count = 0;
      for (let last = purgeBatch; last === purgeBatch && !this.stopping.signal.aborted; ) {
        last = (await db.sql(`intake.purge_${name}`, sql, values)).length;
        count += last;
        if (last === purgeBatch) await this.pause(pauseMs);
      }
      purged[table] = (purged[table] ?? 0) + count;
      if (count > 0) logger.info({ part: table, rows: count }, 'Rows past their time were deleted');
    }
    return purged;
  }

  private async loop(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      await this.pause(this.options.everyMs ?? 600_000);
      if (this.stopping.signal.aborted) return;
      await this.purge().catch((error: unknown) => this.explain(error));
    }
  }

  private async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.stopping.signal }).catch(() => undefined);
  }

  private explain(error: unknown): void {
    const { logger } = this.options;
    if (error instanceof DatabaseUnavailable) logger.debug({ err: error }, 'Old rows could not be deleted');
    else logger.error({ err: error }, 'Deleting old rows failed');
  }
}
