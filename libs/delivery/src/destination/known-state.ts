import { type SharedState, type Standing, standingOf } from './shared-state.js';
import type { Reading } from './state-store.js';

/** A state that was read longer ago than this is no state. */
const staleMs = 5_000;

/** The last state this process has read, and the database's clock carried on from there. */
export class KnownState {
  #reading: Reading | undefined;
  #askedAtMs = Number.NEGATIVE_INFINITY;

  /** An answer that was overtaken by a newer one is dropped; it was up to date all the same when it was asked for. */
  take(reading: Reading): void {
    this.#askedAtMs = Math.max(this.#askedAtMs, reading.askedAtMs);
    if (this.#reading === undefined || reading.state.version >= this.#reading.state.version) this.#reading = reading;
  }

  /** The state; `undefined` before the first reading. */
  get state(): SharedState | undefined {
    return this.#reading?.state;
  }

  /** Until it is too old to go by, in milliseconds; 0 when it is. */
  get freshForMs(): number {
    return Math.max(0, this.#askedAtMs + staleMs - performance.now());
  }

  /** The database's clock now. */
  get nowMs(): number {
    return this.#reading === undefined ? 0 : this.#reading.nowMs + performance.now() - this.#reading.readAtMs;
  }

  /** `blocked` without a reason: unknown, or too old. */
  get standing(): Standing {
    return this.#reading === undefined || this.freshForMs === 0 ? { mode: 'blocked' } : standingOf(this.#reading.state, this.nowMs);
  }
}
