/** Allows `perSecond` on average and a burst of one second's worth. */
export class TokenBucket {
  private tokens: number;
  private filledAtMs: number;

  constructor(
    private readonly perSecond: number,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.tokens = Math.max(perSecond, 1);
    this.filledAtMs = nowMs();
  }

  /** Takes one token. 0: allowed; else the whole seconds after which one is there again. */
  take(): number {
    const now = this.nowMs();
    const earned = ((now - this.filledAtMs) / 1_000) * this.perSecond;
    this.tokens = Math.min(Math.max(this.perSecond, 1), this.tokens + earned);
    this.filledAtMs = now;
    if (this.tokens >= 1) {
      this.tokens -= 1;
      return 0;
    }
    return Math.max(1, Math.ceil((1 - this.tokens) / this.perSecond));
  }
}
