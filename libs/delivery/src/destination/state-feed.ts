import { setTimeout as delay } from 'node:timers/promises';
import type { Notifications } from '#messaging';
import type { Database, Logger } from '#runtime';
import type { Draw, Drawn, QuotaBucket } from './quota-bucket.js';
import { changeRow, channelName, drawTokens, ensureRows, readRows } from './state-sql.js';
import type { Change, Reading, StateStore, Watcher } from './state-store.js';

export interface StateFeedOptions {
  logger: Logger;
  /** Absent: polling alone. */
  notifications?: Notifications;
}

const pollMs = 1_000;

/** One per database and process, shared by its destinations. */
const feeds = new WeakMap<Database, StateFeed>();

/** The feed of a database; the first one that asks says how. */
export function stateFeed(db: Database, options: StateFeedOptions): StateFeed {
  const known = feeds.get(db);
  if (known !== undefined) return known;
  const feed = new StateFeed(db, options);
  feeds.set(db, feed);
  return feed;
}

/** Reads the rows of all watched destinations each second in one statement, and at once when another process says it changed one. */
export class StateFeed implements StateStore {
  readonly #db: Database;
  readonly #options: StateFeedOptions;
  readonly #watchers = new Set<Watcher>();
  #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #reading: Promise<void> | undefined;
  #again = false;
  /** The last read failed: said once. */
  #failed = false;

  constructor(db: Database, options: StateFeedOptions) {
    this.#db = db;
    this.#options = options;
  }

  async watch(watcher: Watcher): Promise<() => Promise<void>> {
    this.#watchers.add(watcher);
    if (this.#watchers.size === 1) {
      this.#stopping = new AbortController();
      this.#running = Promise.all([this.#poll(this.#stopping.signal), this.#listen(this.#stopping.signal)]).then(() => undefined);
    }
    await this.#read();
    return () => this.#leave(watcher);
  }

  change(destination: string, change: Change): Promise<Reading> {
    return changeRow(this.#db, destination, change);
  }

  draw(destination: string, bucket: QuotaBucket, draw: Draw): Promise<Drawn> {
    return drawTokens(this.#db, destination, { ...draw, bucket });
  }

  async #leave(watcher: Watcher): Promise<void> {
    if (!this.#watchers.delete(watcher) || this.#watchers.size > 0) return;
    this.#stopping.abort();
    await this.#running;
  }

  async #poll(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await delay(pollMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      void this.#read();
      for (const watcher of this.#watchers) watcher.onTick();
    }
  }

  /** Notifications are a shortcut: without them the poll finds everything a second later. */
  async #listen(signal: AbortSignal): Promise<void> {
    const { notifications } = this.#options;
    if (notifications === undefined) return;
    let channel: string | undefined;
    while (channel === undefined && !signal.aborted) {
      channel = await channelName(this.#db).catch(() => undefined);
      if (channel === undefined) await delay(pollMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
    if (channel === undefined || signal.aborted) return;
    const read = () => void this.#read();
    const leave = notifications.listen(channel, { notified: read, reconnected: read });
    signal.addEventListener('abort', leave, { once: true });
  }

  /** One at a time; whoever asks meanwhile gets the next one. Never rejects. */
  #read(): Promise<void> {
    if (this.#reading !== undefined) {
      this.#again = true;
      return this.#reading;
    }
    this.#reading = this.#readAll().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readAll(): Promise<void> {
    do {
      this.#again = false;
      try {
        await this.#readOnce();
        this.#failed = false;
      } catch (error) {
        if (!this.#failed) this.#options.logger.warn({ err: error }, 'the state of destinations cannot be read; tried again each second');
        this.#failed = true;
      }
    } while (this.#again && !this.#stopping.signal.aborted);
  }

  async #readOnce(): Promise<void> {
    const names = [...new Set([...this.#watchers].map(({ destination }) => destination))];
    if (names.length === 0) return;
    let readings = await readRows(this.#db, names);
    if (readings.size < names.length) {
      await ensureRows(this.#db, names);
      readings = await readRows(this.#db, names);
    }
    for (const watcher of this.#watchers) {
      const reading = readings.get(watcher.destination);
      if (reading !== undefined) watcher.onReading(reading);
    }
  }
}
