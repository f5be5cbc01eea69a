import { DueHeap } from './due-heap.js';

/** `full` stops the release until `wake`; `paused` sets this one record aside until `resume`. */
export type Verdict = 'take' | 'full' | 'paused';

export interface HeldRecordsOptions<T> {
  /** Asked for each due record in turn; `chosen` are already on their way out in this release. */
  verdict(item: T, chosen: number): Verdict;
  release(due: { dueMs: number; item: T }[]): void;
  now?: () => number;
}

/** A wall clock that is set back must not delay a record for long, so no timer runs longer than this. */
const longestTimerMs = 10_000;

/** Records that wait for their time. One timer, for the earliest; never early, because the clock is asked again when it fires. */
export class HeldRecords<T> {
  private readonly heap = new DueHeap<T>();
  private paused: { dueMs: number; item: T }[] = [];
  private timer: NodeJS.Timeout | undefined;
  private timerFor = Number.POSITIVE_INFINITY;
  private ended = false;
  /** The last release stopped for want of room. */
  private full = false;
  private readonly now: () => number;

  constructor(private readonly options: HeldRecordsOptions<T>) {
    this.now = options.now ?? Date.now;
  }

  get size(): number {
    return this.heap.size + this.paused.length;
  }

  add(dueMs: number, item: T): void {
    if (this.ended) return;
    this.heap.push(dueMs, item);
    if (dueMs < this.timerFor) this.arm();
  }

  /** Releases what is due. To be called when room was made; the timer calls it for time passing. */
  wake(): void {
    if (this.ended) return;
    const due: { dueMs: number; item: T }[] = [];
    this.full = false;
    for (let entry = this.heap.popDue(this.now()); entry !== undefined; entry = this.heap.popDue(this.now())) {
      const verdict = this.options.verdict(entry.item, due.length);
      if (verdict === 'full') {
        this.heap.push(entry.dueMs, entry.item);
        this.full = true;
        break;
      }
      (verdict === 'take' ? due : this.paused).push(entry);
    }
    if (due.length > 0) this.options.release(due);
    this.arm();
  }

  /** A pause ended: what was set aside takes part again. */
  resume(): void {
    const aside = this.paused;
    this.paused = [];
    for (const { dueMs, item } of aside) this.heap.push(dueMs, item);
    this.wake();
  }

  end(): void {
    this.ended = true;
    clearTimeout(this.timer);
  }

  /** Due records that found no room have no timer: `wake` is their way out. One that became due since it was looked at has. */
  private arm(): void {
    clearTimeout(this.timer);
    this.timerFor = this.heap.nextDueMs ?? Number.POSITIVE_INFINITY;
    if (this.ended || this.full || this.timerFor === Number.POSITIVE_INFINITY) return;
    const waitMs = Math.max(0, this.timerFor - this.now());
    this.timer = setTimeout(() => this.wake(), Math.min(waitMs, longestTimerMs));
  }
}
