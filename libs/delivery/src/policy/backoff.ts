/** Upper bound of the wait after attempt 1, 2, 3 …; the last one repeats. */
const ceilingsMs = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000];

/** Full jitter: anything from 0 up to the ceiling of this attempt (1-indexed). `random` is in [0, 1). */
export function fullJitterMs(attempt: number, random: number): number {
  const ceiling = ceilingsMs[Math.min(Math.max(attempt, 1), ceilingsMs.length) - 1] ?? 0;
  return Math.floor(ceiling * random);
}
