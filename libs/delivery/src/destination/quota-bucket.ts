import type { Quota } from './control.js';

export interface QuotaBucket {
  /** Tokens at most. */
  capacity: number;
  perMs: number;
  /** A token that was drawn and not used within this time is void. */
  keepMs: number;
}

const burstShare = 0.1;
const keepShare = 0.05;
const longestKeepMs = 500;

/**
 * A token bucket that keeps to `requests` in any span of `perMs`, wherever a destination begins to count: what may come at once and what
 * comes in over the span (and the time a token is kept) are together no more than that.
 */
export function bucketOf({ requests, perMs }: Quota): QuotaBucket {
  const capacity = Math.max(1, Math.floor(requests * burstShare));
  const keepMs = Math.min(perMs * keepShare, longestKeepMs);
  return { capacity, perMs: (requests + 1 - capacity) / (perMs + keepMs), keepMs };
}

export interface Draw {
  /** Tokens wanted. */
  want: number;
  /** Tokens that were used already, without having been there. */
  owed: number;
}

export interface Drawn {
  granted: number;
  /** Until there may be one, where none was granted. */
  waitMs: number;
}

/** Draws from a bucket that held `level` tokens `sinceMs` ago (`undefined`: it was never drawn from). */
export function draw(
  bucket: QuotaBucket,
  held: { level: number; sinceMs: number } | undefined,
  { want, owed }: Draw,
): Drawn & { level: number } {
  const { capacity, perMs } = bucket;
  const full = held === undefined ? capacity : Math.min(capacity, held.level + Math.max(held.sinceMs, 0) * perMs);
  const left = full - owed;
  const granted = Math.max(0, Math.min(want, Math.floor(left)));
  return { granted, level: left - granted, waitMs: granted > 0 ? 0 : (1 - left) / perMs };
}
