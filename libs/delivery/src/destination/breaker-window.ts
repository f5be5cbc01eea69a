import type { BreakerPolicy } from './control.js';

export interface SeenOutcome {
  operationKey: string;
  failed: boolean;
  /** It failed before the destination was reached. */
  unreached: boolean;
}

/** What was longer ago says nothing about now. */
const rememberMs = 300_000;
const unreachedLimit = 2;

/**
 * The last outcome of each of the last distinct operations, as this process saw them. One lead's failures count once however often it is
 * repeated, except that a destination which could not be reached twice in a row is down whoever asked.
 */
export class BreakerWindow {
  readonly #policy: BreakerPolicy;
  /** In the order of their last outcome. */
  readonly #seen = new Map<string, { failed: boolean; atMs: number }>();
  #failed = 0;
  #unreachedInARow = 0;

  constructor(policy: BreakerPolicy) {
    this.#policy = policy;
  }

  /** Notes an outcome; true: the destination fails. `nowMs` only ever grows. */
  add({ operationKey, failed, unreached }: SeenOutcome, nowMs: number): boolean {
    if (!failed) this.#unreachedInARow = 0;
    else if (unreached) this.#unreachedInARow++;
    this.#drop(operationKey);
    this.#seen.set(operationKey, { failed, atMs: nowMs });
    if (failed) this.#failed++;
    this.#forget(nowMs);
    return this.#unreachedInARow >= unreachedLimit || this.#isFailing();
  }

  clear(): void {
    this.#seen.clear();
    this.#failed = 0;
    this.#unreachedInARow = 0;
  }

  #forget(nowMs: number): void {
    for (const [key, { atMs }] of this.#seen) {
      if (this.#seen.size <= this.#policy.window && nowMs - atMs < rememberMs) return;
      this.#drop(key);
    }
  }

  #drop(key: string): void {
    if (this.#seen.get(key)?.failed === true) this.#failed--;
    this.#seen.delete(key);
  }

  #isFailing(): boolean {
    const { window, minimum, ratio } = this.#policy;
    const total = this.#seen.size;
    if (total >= minimum && this.#failed === total) return true;
    return total >= window && this.#failed >= total * ratio;
  }
}
