import type { Sql } from '#runtime';

/** How long a reading of PostgreSQL's clock may be extended by this process's monotonic one. */
const maxReadingAgeMs = 100;

/**
 * PostgreSQL's time (clock_now()), which every time that is stored comes from. Statements that return it anyway refresh the reading, so that it
 * costs a round trip only when nothing was written lately.
 */
export class DatabaseClock {
  private reading: { databaseMs: number; monotonicMs: number } | undefined;

  constructor(private readonly db: Sql) {}

  /** Takes over a time that PostgreSQL has just returned. */
  refresh(now: Date): void {
    this.reading = { databaseMs: now.getTime(), monotonicMs: performance.now() };
  }

  /** Throws DatabaseUnavailable. */
  async now(): Promise<Date> {
    const ageMs = this.reading ? performance.now() - this.reading.monotonicMs : Number.POSITIVE_INFINITY;
    if (this.reading && ageMs <= maxReadingAgeMs) return new Date(this.reading.databaseMs + ageMs);
    const now = await databaseNow(this.db);
    this.refresh(now);
    return now;
  }
}

/** PostgreSQL's time of this very moment. Throws DatabaseUnavailable. */
export async function databaseNow(db: Sql): Promise<Date> {
  const [row] = await db.sql<{ now: Date }>('clock.now', 'select clock_now() as now', []);
  if (!row) throw new Error('clock_now() gave no row');
  return row.now;
}
