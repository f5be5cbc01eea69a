/** Older takings say nothing about now: the greatest of this span and of the one before it counts. */
const spanMs = 15_000;
/** What is later than this is not waited for any longer: its records may be lost after all. */
const mostMs = 60_000;

interface Span {
  /** By `delivery.destination`, in milliseconds. */
  latest: Map<string, number>;
  endsAtMs: number;
}

/**
 * How late this process takes up what is due, by destination: the time between a wake-up's due time and its claim, as last seen. Where a backlog
 * is worked off slowly its rows are overdue although their records are on their way, and a second record for each would only lengthen it.
 */
export class Lateness {
  #now: Span = { latest: new Map(), endsAtMs: 0 };
  #before: Span = this.#now;

  /** A wake-up was claimed so many milliseconds after its time. */
  note(destination: string, lateMs: number): void {
    const { latest } = this.#current();
    if (lateMs > (latest.get(destination) ?? 0)) latest.set(destination, Math.min(lateMs, mostMs));
  }

  /** Milliseconds by destination, 60,000 at most; one that was not late is absent. */
  behind(): ReadonlyMap<string, number> {
    const { latest } = this.#current();
    const all = new Map(this.#before.latest);
    for (const [destination, ms] of latest) all.set(destination, Math.max(ms, all.get(destination) ?? 0));
    return all;
  }

  #current(): Span {
    const nowMs = performance.now();
    if (nowMs < this.#now.endsAtMs) return this.#now;
    const isNext = nowMs < this.#now.endsAtMs + spanMs;
    this.#before = isNext ? this.#now : { latest: new Map(), endsAtMs: 0 };
    this.#now = { latest: new Map(), endsAtMs: nowMs + spanMs };
    return this.#now;
  }
}
