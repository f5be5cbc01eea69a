import type { Backoff } from '../target.js';

/** Full jitter: anything from 0 up to the ceiling of this attempt (1-indexed), which doubles up to the cap. `random` is in [0, 1). */
export function fullJitterMs({ baseMs, capMs }: Backoff, attempt: number, random: number): number {
  const ceiling = Math.min(capMs, baseMs * 2 ** Math.min(Math.max(attempt, 1) - 1, 30));
  return Math.floor(ceiling * random);
}
