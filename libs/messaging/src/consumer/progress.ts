import type { ReadinessResult } from '#runtime';

/** What the consumer is doing, as seen at one moment. */
export interface Situation {
  state: 'starting' | 'running' | 'down' | 'stopped';
  /** Records that are fetched and should move. */
  movable: number;
  /** Records in Kafka behind the fetch position of what should be fetched; undefined when unknown. */
  lag: number | undefined;
}

const stillMs = 10_000;
/** A record with the application may take as long as the slowest allowed call of a destination, 10 s, and a moment more. */
const workMs = 12_000;

/** Whether a consumer makes progress. A heartbeat proves nothing: it goes on beside a stuck handler and a frozen fetch loop. */
export class Progress {
  private fetchedAtMs: number;
  private movedAtMs: number;
  private waitingSinceMs: number | undefined;
  private positions = '';

  constructor(private readonly now: () => number = Date.now) {
    this.fetchedAtMs = now();
    this.movedAtMs = now();
  }

  /** The fetch loop went round. */
  fetched(): void {
    this.fetchedAtMs = this.now();
  }

  /** Something was settled, given back, or the assignment is new; `left` records should still move. */
  moved(left = 0): void {
    this.movedAtMs = this.now();
    this.waitingSinceMs = undefined;
    this.waits(left);
  }

  /**
   * So many records should move now. To be told of when they are there: known only from the first question on, a consumer that was idle and
   * then froze would answer green for another 12 s, however long it has stood.
   */
  waits(movable: number): void {
    if (movable > 0) this.waitingSinceMs ??= this.now();
  }

  /** Milliseconds since the fetch loop last went round. */
  get sinceFetchMs(): number {
    return this.now() - this.fetchedAtMs;
  }

  get sinceMoveMs(): number {
    return this.now() - this.movedAtMs;
  }

  /** `positions` is any text that changes when a fetch position does. */
  check({ state, movable, lag }: Situation, positions: string): ReadinessResult {
    // Beside a stuck handler the fetch goes on until its window is full: where records are there, only settled ones are progress.
    if (positions !== this.positions && movable === 0) this.moved();
    this.positions = positions;
    const waiting = movable > 0 || (lag ?? 0) > 0;
    if (!waiting) this.waitingSinceMs = undefined;
    else this.waitingSinceMs ??= this.now();
    if (state === 'down') return { ok: false, detail: 'the consumer ended and is being built again' };
    if (state === 'stopped') return { ok: false, detail: 'the consumer is stopped' };
    if (state === 'starting') return { ok: false, detail: 'the consumer has not joined its group yet' };
    if (this.sinceFetchMs > stillMs) return { ok: false, detail: `nothing was fetched for ${seconds(this.sinceFetchMs)} s` };
    const still = this.now() - Math.max(this.movedAtMs, this.waitingSinceMs ?? this.now());
    if (!waiting || still <= (movable > 0 ? workMs : stillMs)) return { ok: true };
    return { ok: false, detail: `${Math.max(movable, lag ?? 0)} records wait and none moved for ${seconds(still)} s` };
  }
}

const seconds = (ms: number): number => Math.floor(ms / 1_000);
