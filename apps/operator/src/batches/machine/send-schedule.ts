/** How many items go out first and are looked up at the destination before any other: 1 %, 10 at least and 50 at most; a smaller batch whole. */
export function canarySize(items: number): number {
  return Math.min(items, 50, Math.max(10, Math.ceil(items / 100)));
}

/** What fell due while nothing was sent is owed, so that the rate holds over the whole; so much at most. A restart fits, an outage does not. */
export const longestArrearsMs = 30_000;

/** Times the rate that go out in any second at most: arrears are made up beside what falls due, and no destination is flooded with them. */
export const ceilingFactor = 2;

const secondMs = 1_000;

/** What was before: of the same batch, by whoever ran it. */
export interface Before {
  /** How long ago the last item fell due that has gone out. Default 0: nothing is owed. */
  owedMs?: number;
  /** Items that went out in the last second. Default 0. */
  lately?: number;
}

/**
 * Says how many items may go out: those that are due at an even rate, counted from its beginning, so that a late look makes up for itself and
 * the rate is exact over time. What is owed goes out evenly too, and with all else never faster than {@link ceilingFactor} times the rate: no
 * second has more, wherever it begins. Milliseconds are of any clock that only ever grows.
 */
export class SendSchedule {
  private fromMs: number;
  private counted = 0;
  private lastMs: number;
  /** What went out in the last second, oldest first. */
  private recent: { atMs: number; count: number }[];

  constructor(
    private readonly ratePerS: number,
    nowMs: number,
    { owedMs = 0, lately = 0 }: Before = {},
  ) {
    this.fromMs = nowMs - owedMs;
    this.lastMs = nowMs;
    this.recent = [{ atMs: nowMs, count: lately }];
  }

  /** Items that may go out now. */
  due(nowMs: number): number {
    if (this.owedMs(nowMs) > longestArrearsMs) this.countFrom(nowMs - longestArrearsMs);
    const due = Math.floor(((nowMs - this.fromMs) * this.ratePerS) / secondMs) - this.counted;
    this.recent = this.recent.filter(({ atMs }) => atMs > nowMs - secondMs);
    const out = this.recent.reduce((sum, { count }) => sum + count, 0);
    const most = ceilingFactor * this.ratePerS;
    const even = Math.ceil(((nowMs - this.lastMs) * most) / secondMs);
    return Math.max(0, Math.min(due, even, most - out));
  }

  /** Notes that so many went out, until now at the latest. */
  sent(count: number, nowMs: number): void {
    if (count === 0) return;
    this.counted += count;
    this.lastMs = nowMs;
    this.recent.push({ atMs: nowMs, count });
  }

  /** How long ago that fell due which went out last: what a successor owes. */
  owedMs(nowMs: number): number {
    return nowMs - this.fromMs - (this.counted * secondMs) / this.ratePerS;
  }

  /** Nothing should go out now, so that nothing falls due either. What went out before still counts for its second. */
  hold(nowMs: number): void {
    this.countFrom(nowMs);
    this.lastMs = nowMs;
  }

  private countFrom(ms: number): void {
    this.fromMs = ms;
    this.counted = 0;
  }
}
