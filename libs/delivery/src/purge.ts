import { setTimeout as delay } from 'node:timers/promises';
import type { Database, Logger } from '#runtime';
import { type TidyCursor, tidyBeginning, tidyContacts } from './contacts/index.js';
import { type PurgeCursor, purgeBatch, purgeBeginning } from './sql/purge.js';

export interface PurgeOptions {
  db: Database;
  logger: Logger;
  /** Of other tables: each deletes as many old rows as it is told at most, and gives how many. */
  others?: readonly ((limit: number) => Promise<number>)[];
  /** Finished rows are kept this long after their last change; default 40 days: longer than topic retention and replay horizon together. */
  retentionMs?: number;
  /** Rows of one statement; default 500. */
  batch?: number;
  /** Between batches, so that deliveries come first; default 200. */
  pauseMs?: number;
  /** Between runs; default an hour. */
  everyMs?: number;
}

const day = 86_400_000;

/**
 * Deletes finished deliveries with their operations and attempts, and people who did not come back, once nobody asks for them any more, a small batch at a time. Several
 * processes may do so at once: each row is deleted once.
 */
export class Purge {
  readonly #options: PurgeOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: PurgeOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** One run through all old rows. Gives the number of deliveries deleted. */
  async purge(): Promise<number> {
    const { db, retentionMs = 40 * day, batch = 500, pauseMs = 200 } = this.#options;
    await this.#tidyContacts(batch, pauseMs);
    let deleted = 0;
    for (let after: PurgeCursor | undefined = purgeBeginning; after !== undefined && !this.#stop.signal.aborted; ) {
      const done = await purgeBatch(db, { after, limit: batch, retentionMs });
      deleted += done.deleted;
      after = done.next;
      if (after !== undefined) await this.#wait(pauseMs);
    }
    for (const other of this.#options.others ?? []) {
      while (!this.#stop.signal.aborted && (await other(batch)) === batch) await this.#wait(pauseMs);
    }
    return deleted;
  }

  /** Before their operations go: a success that nobody settled still has the person's reference. */
  async #tidyContacts(limit: number, pauseMs: number): Promise<void> {
    for (let after: TidyCursor | undefined = tidyBeginning; after !== undefined && !this.#stop.signal.aborted; ) {
      after = (await tidyContacts(this.#options.db, { after, limit })).next;
      if (after !== undefined) await this.#wait(pauseMs);
    }
  }

  async #run(): Promise<void> {
    const { logger, everyMs = 3_600_000 } = this.#options;
    while (!this.#stop.signal.aborted) {
      await this.#wait(everyMs * (0.5 + Math.random() / 2));
      if (this.#stop.signal.aborted) return;
      try {
        const deleted = await this.purge();
        if (deleted > 0) logger.info({ count: deleted }, 'finished deliveries purged');
      } catch (error) {
        logger.warn({ err: error }, 'purge failed');
      }
    }
  }

  async #wait(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stop.signal, ref: false }).catch(() => undefined);
  }
}
