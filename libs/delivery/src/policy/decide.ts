import type { FailureClass } from '#contracts';
import type { Outcome } from '../outcome.js';
import { fullJitterMs } from './backoff.js';

export interface DecideContext {
  /** Repeating the same request with the same key has no second effect. */
  nativeIdempotency: boolean;
  /** Calls made for this operation, the judged one included. */
  attempt: number;
  /** 0 ≤ random < 1. */
  random: number;
}

/** What becomes of an operation after a call. `delayMs` runs until the next attempt. */
export type Verdict =
  | { state: 'succeeded'; ref?: string }
  | { state: 'erased' }
  | { state: 'uncertain'; code: string }
  | { state: 'waiting'; code: string; class?: FailureClass; delayMs: number };

/**
 * Judges one call. This step's policy: what may be repeated safely waits and holds up its destination, what may have happened once and
 * cannot be repeated is `uncertain` and never sent again by itself. Attempts, dead letters and holds come with the failure engine; until
 * then nothing ends without its effect, refusals by the destination included.
 */
export function decide(outcome: Outcome, context: DecideContext): Verdict {
  switch (outcome.kind) {
    case 'succeeded':
      return { state: 'succeeded', ref: outcome.ref };
    case 'erased':
      return { state: 'erased' };
    case 'permanent':
      return { state: 'waiting', code: outcome.code, class: outcome.class, delayMs: delayMs(outcome, context) };
    case 'throttled':
      return { state: 'waiting', code: outcome.code, delayMs: delayMs(outcome, context) };
    case 'transient':
    case 'uncertain': {
      const repeatable = context.nativeIdempotency || (outcome.kind === 'transient' && outcome.provablyNotExecuted);
      if (!repeatable) return { state: 'uncertain', code: outcome.code };
      return { state: 'waiting', code: outcome.code, delayMs: delayMs(outcome, context) };
    }
  }
}

/**
 * The longest a destination can make its group wait by asking. Until holds have a state of their own the whole group waits with the delivery,
 * and one mistaken `Retry-After` of an hour would cost every lead behind it its deadline.
 */
const longestAskedMs = 300_000;

/**
 * What the destination asked for, at most five minutes, plus up to a second so that waiting callers do not return together; our own backoff
 * where longer.
 */
function delayMs({ afterMs = 0 }: Outcome, { attempt, random }: DecideContext): number {
  const asked = afterMs > 0 ? Math.ceil(Math.min(afterMs, longestAskedMs)) + Math.floor(random * 1_000) : 0;
  return Math.max(asked, fullJitterMs(attempt, random));
}
