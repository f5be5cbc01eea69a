import { type Draw, type Drawn, draw, type QuotaBucket } from '../quota-bucket.js';
import { initialState, type SharedState } from '../shared-state.js';
import type { Change, Reading, StateStore, Watcher } from '../state-store.js';

/** A database that several controls of one spec share: one row, statements that take a moment, and a clock of its own. */
export class MemoryRow {
  state: SharedState = initialState;
  quota: { level: number; atMs: number } | undefined;
  /** What the database's clock is ahead. */
  aheadMs = 1_000_000;
  /** How long a statement takes. */
  latencyMs = 2;
  away = false;
  readonly stores = new Set<MemoryStore>();

  get nowMs(): number {
    return performance.now() + this.aheadMs;
  }

  /** One statement: nothing happens between its begin and its end. */
  async statement<T>(run: () => T): Promise<T> {
    await new Promise((resolve) => setTimeout(resolve, this.latencyMs));
    if (this.away) throw new Error('away');
    return run();
  }
}

/** One process's way to the row. */
export class MemoryStore implements StateStore {
  readonly #row: MemoryRow;
  readonly #watchers = new Set<Watcher>();
  #timer: NodeJS.Timeout | undefined;
  /** Notifications arrive. */
  notified = true;

  constructor(row: MemoryRow) {
    this.#row = row;
  }

  async watch(watcher: Watcher): Promise<() => Promise<void>> {
    this.#watchers.add(watcher);
    this.#row.stores.add(this);
    await this.read();
    this.#timer ??= setInterval(() => {
      void this.read();
      for (const one of this.#watchers) one.onTick();
    }, 1_000);
    return async () => {
      clearInterval(this.#timer);
      this.#row.stores.delete(this);
    };
  }

  async read(): Promise<void> {
    const askedAtMs = performance.now();
    try {
      const reading = await this.#row.statement(() => this.#reading(askedAtMs));
      for (const { onReading } of this.#watchers) onReading(reading);
    } catch {
      // Seen by its age.
    }
  }

  async change(_destination: string, change: Change): Promise<Reading> {
    for (;;) {
      const askedAtMs = performance.now();
      const { state, nowMs } = await this.#row.statement(() => this.#reading(askedAtMs));
      const next = change(state, nowMs);
      if (next === undefined) return this.#reading(askedAtMs);
      const done = await this.#row.statement(() => {
        if (this.#row.state.version !== state.version) return undefined;
        this.#row.state = next;
        return this.#reading(askedAtMs);
      });
      if (done === undefined) continue;
      for (const store of this.#row.stores) if (store.notified) void store.read();
      return done;
    }
  }

  draw(_destination: string, bucket: QuotaBucket, wanted: Draw): Promise<Drawn> {
    const row = this.#row;
    return row.statement(() => {
      const held = row.quota && { level: row.quota.level, sinceMs: row.nowMs - row.quota.atMs };
      const drawn = draw(bucket, held, wanted);
      row.quota = { level: drawn.level, atMs: row.nowMs };
      return drawn;
    });
  }

  #reading(askedAtMs: number): Reading {
    return { state: this.#row.state, nowMs: this.#row.nowMs, askedAtMs, readAtMs: performance.now() };
  }
}
