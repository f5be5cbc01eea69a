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
  #unreachedInARow = 0;

  constructor(policy: BreakerPolicy) {
    this.#policy = policy;
  }

  /** Notes an outcome; true: the destination fails. `nowMs` only ever grows. */
  add({ operationKey, failed, unreached }: SeenOutcome, nowMs: number): boolean {
    if (!failed) this.#unreachedInARow = 0;
    else if (unreached) this.#unreachedInARow++;
    this.#seen.delete(operationKey);
    this.#seen.set(operationKey, { failed, atMs: nowMs });
    this.#forget(nowMs);
    return this.#unreachedInARow >= unreachedLimit || this.#isFailing();
  }

  clear(): void {
    this.#seen.clear();
    this.#unreachedInARow = 0;
  }

  #forget(nowMs: number): void {
    for (const [key, { atMs }] of this.#seen) {
      if (this.#seen.size <= this.#policy.window && nowMs - atMs < rememberMs) return;
      this.#seen.delete(key);
    }
  }

  #isFailing(): boolean {
    const { window, minimum, ratio } = this.#policy;
    const total = this.#seen.size;
    let failed = 0;
    for (const one of this.#seen.values()) failed += one.failed ? 1 : 0;
    if (total >= minimum && failed === total) return true;
    return total >= window && failed >= total * ratio;
  }
}
