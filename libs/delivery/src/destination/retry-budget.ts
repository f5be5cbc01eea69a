import { RecentAnswers } from './recent-answers.js';

const spanSeconds = 60;
/** Retries that are always allowed in a minute: a destination with few leads must get to its second attempt too. */
const alwaysAllowed = 10;
/** 0.2 × 15 is a little more than 3. */
const roundingError = 1e-9;

/**
 * Retries as a share of this process's requests of the last minute, for as long as the destination fails more of them than that share. Where it
 * fails fewer, its failures cannot make more retries than the share allows: what waits then is left over from before (an outage, a crash of
 * ours), and holding it back would protect nobody. Counts by second; `nowMs` only ever grows.
 */
export class RetryBudget {
  readonly #answers = new RecentAnswers();
  readonly #share: number;
  readonly #requests = new Array<number>(spanSeconds + 1).fill(0);
  readonly #retries = new Array<number>(spanSeconds + 1).fill(0);
  #second = Number.NEGATIVE_INFINITY;

  constructor(share: number) {
    this.#share = share;
  }

  /** May one more retry be made? */
  allowsRetry(nowMs: number): boolean {
    if (!this.#answers.failMoreThan(this.#share, nowMs)) return true;
    this.#moveTo(nowMs);
    const requests = sum(this.#requests) + 1;
    return sum(this.#retries) + 1 <= Math.max(alwaysAllowed, requests * this.#share + roundingError);
  }

  /** A request is made. */
  count(retry: boolean, nowMs: number): void {
    this.#moveTo(nowMs);
    const slot = this.#second % this.#requests.length;
    this.#requests[slot] = (this.#requests[slot] ?? 0) + 1;
    if (retry) this.#retries[slot] = (this.#retries[slot] ?? 0) + 1;
  }

  /** A request was answered, or is known to have failed. */
  hear(failed: boolean, nowMs: number): void {
    this.#answers.add(failed, nowMs);
  }

  /** The destination was away and is back: how it answered before says nothing about now. What was sent still counts. */
  forgetAnswers(): void {
    this.#answers.clear();
  }

  #moveTo(nowMs: number): void {
    const second = Math.floor(nowMs / 1_000);
    const from = Math.max(this.#second, second - this.#requests.length);
    for (let empty = from + 1; empty <= second; empty++) {
      this.#requests[empty % this.#requests.length] = 0;
      this.#retries[empty % this.#retries.length] = 0;
    }
    this.#second = Math.max(this.#second, second);
  }
}

function sum(counts: readonly number[]): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}
