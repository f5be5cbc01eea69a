/** How a backlog goes down. */
export interface Drain {
  left: number;
  /** Highest backlog of this drain. */
  total: number;
  rate_per_s: number;
  /** At that rate; null: it does not go down now. */
  eta_s: number | null;
}

interface Sample {
  atMs: number;
  left: number;
}

interface Course {
  /** Of the last minute, oldest first; since it was last blocked. */
  samples: Sample[];
  total: number;
  /** It was blocked while this backlog was there. */
  wasBlocked: boolean;
}

const windowMs = 60_000;
/** Two samples closer together say nothing about a rate. */
const shortestSpanMs = 1_000;
/** What waits for an ordinary retry is no backlog. */
const backlogFrom = 50;

/** Watches how long the queues of destinations are, and says how fast they drain. What this process has not seen it does not know. */
export class DrainWatch {
  readonly #courses = new Map<string, Course>();

  /** Notes how many are left now. `blocked`: nothing is sent there. */
  see(key: string, { atMs, left, blocked }: Sample & { blocked: boolean }): void {
    const before = this.#courses.get(key) ?? { samples: [], total: 0, wasBlocked: false };
    if (left === 0) return void this.#courses.delete(key);
    const samples = blocked ? [] : [...before.samples.filter((one) => atMs - one.atMs <= windowMs), { atMs, left }];
    const total = blocked ? left : Math.max(before.total, left);
    this.#courses.set(key, { samples, total, wasBlocked: blocked || before.wasBlocked });
  }

  /** How many are left is not known now. The height of the backlog is kept; the rate begins anew. */
  lose(key: string): void {
    const before = this.#courses.get(key);
    if (before !== undefined) this.#courses.set(key, { ...before, samples: [] });
  }

  /** Undefined: there is no backlog to drain, or nothing is sent there. */
  of(key: string): Drain | undefined {
    const course = this.#courses.get(key);
    const [first, last] = [course?.samples[0], course?.samples.at(-1)];
    if (course === undefined || first === undefined || last === undefined) return undefined;
    if (!course.wasBlocked && course.total < backlogFrom) return undefined;
    const spanMs = last.atMs - first.atMs;
    const rate = spanMs < shortestSpanMs ? 0 : Math.max(0, ((first.left - last.left) * 1_000) / spanMs);
    const { left } = last;
    return { left, total: course.total, rate_per_s: Math.round(rate * 100) / 100, eta_s: rate > 0 ? Math.ceil(left / rate) : null };
  }
}
