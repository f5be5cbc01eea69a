import type { Draw, Drawn, QuotaBucket } from './quota-bucket.js';
import type { SharedState } from './shared-state.js';

/** A state and when it was so. */
export interface Reading {
  state: SharedState;
  /** The database's clock. */
  nowMs: number;
  /** `performance.now()` when the question left. */
  askedAtMs: number;
  /** `performance.now()` when the answer came: time has gone on since `nowMs` by no less than what has passed since. */
  readAtMs: number;
}

/** `undefined`: leave it as it is. Called again when another process was faster. */
export type Change = (state: SharedState, nowMs: number) => SharedState | undefined;

export interface Watcher {
  destination: string;
  onReading(reading: Reading): void;
  /** Each second, whether the database answers or not. */
  onTick(): void;
}

/** The rows that processes share. */
export interface StateStore {
  /** Looks again at once, then each second, and whenever another process changed something. Gives a function that ends it. */
  watch(watcher: Watcher): Promise<() => Promise<void>>;
  /** Compare-and-set; gives the row as it is then. Throws DatabaseUnavailable. */
  change(destination: string, change: Change): Promise<Reading>;
  /** Throws DatabaseUnavailable. */
  draw(destination: string, bucket: QuotaBucket, draw: Draw): Promise<Drawn>;
}
