/** How many items go out first and are looked up at the destination before any other: 1 %, 10 at least and 50 at most; a smaller batch whole. */
export function canarySize(items: number): number {
  return Math.min(items, 50, Math.max(10, Math.ceil(items / 100)));
}

/** What falls due while nothing could be sent is caught up on, so that the rate holds over the whole; this much at most. */
const longestArrearsMs = 2_000;

/**
 * Says how many items are due, at an even rate counted from its beginning: a late look makes up for itself, so that the rate is exact over
 * time. After a standstill of more than two seconds it counts from then.
 */
export class SendSchedule {
  private fromMs: number;
  private counted = 0;

  /** @param nowMs milliseconds that only ever grow */
  constructor(
    private readonly ratePerS: number,
    nowMs: number,
  ) {
    this.fromMs = nowMs;
  }

  /** Items that may go out now. */
  due(nowMs: number): number {
    const due = this.dueAt(nowMs);
    const most = Math.ceil((longestArrearsMs * this.ratePerS) / 1_000);
    if (due <= most) return due;
    this.counted = 0;
    this.fromMs = nowMs - longestArrearsMs;
    return this.dueAt(nowMs);
  }

  /** Notes that so many went out. */
  sent(count: number): void {
    this.counted += count;
  }

  private dueAt(nowMs: number): number {
    return Math.floor(((nowMs - this.fromMs) * this.ratePerS) / 1_000) - this.counted;
  }
}
