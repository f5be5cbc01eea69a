export interface Minute {
  /** ISO 8601, the minute's begin. */
  at: string;
  /** Requests with a key that never came before, and those without a key. */
  first: number;
  /** Requests with a key that came before: attempts after the first. */
  again: number;
}

const kept = 120;
const minuteMs = 60_000;

/** Write requests of each of the last two hours' minutes, first attempts apart from later ones. */
export class Minutes {
  private readonly seen = new Set<string>();
  private readonly byMinute = new Map<number, { first: number; again: number }>();

  add(key: string | undefined, receivedMs: number): void {
    const minute = Math.floor(receivedMs / minuteMs);
    const counted = this.byMinute.get(minute) ?? { first: 0, again: 0 };
    if (key !== undefined && this.seen.has(key)) counted.again += 1;
    else counted.first += 1;
    if (key !== undefined) this.seen.add(key);
    if (this.byMinute.has(minute)) return;
    this.byMinute.set(minute, counted);
    const [oldest] = this.byMinute.keys();
    if (this.byMinute.size > kept && oldest !== undefined) this.byMinute.delete(oldest);
  }

  list(): Minute[] {
    return [...this.byMinute].map(([minute, counted]) => ({ at: new Date(minute * minuteMs).toISOString(), ...counted }));
  }

  clear(): void {
    this.seen.clear();
    this.byMinute.clear();
  }
}
