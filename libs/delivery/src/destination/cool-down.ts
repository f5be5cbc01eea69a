import type { Backoff } from '../target.js';
import type { BreakerPolicy } from './control.js';

/** A share of the cool-down, on top: processes and destinations that failed together are not probed together. */
const jitterShare = 0.2;
/** On top of what a destination asks to wait. */
const throttleJitterMs = 1_000;
/** A clock that is wrong on the other side must not stop a destination for a day. */
const longestThrottleMs = 3_600_000;

const doubled = (firstMs: number, longestMs: number, nth: number): number => Math.min(firstMs * 2 ** Math.min(nth - 1, 30), longestMs);

/** The nth cool-down in a row (from 1), in milliseconds. `random` is in [0, 1). Never shorter than declared, a fifth longer at most. */
export function coolDownMs(policy: Pick<BreakerPolicy, 'coolDownMs' | 'longestCoolDownMs'>, nth: number, random: number): number {
  return doubled(policy.coolDownMs, policy.longestCoolDownMs, nth) * (1 + jitterShare * random);
}

/**
 * How long a destination that throttles is left alone: what it asked for and up to a second more, an hour at most; where it did not say,
 * back-off that grows with each time in a row, between half and all of its ceiling.
 */
export function throttleMs(
  afterMs: number | undefined,
  { backoff, nth, random }: { backoff: Backoff; nth: number; random: number },
): number {
  if (afterMs !== undefined) return Math.min(Math.max(afterMs, 0), longestThrottleMs) + throttleJitterMs * random;
  return (doubled(backoff.baseMs, backoff.capMs, nth) * (1 + random)) / 2;
}
