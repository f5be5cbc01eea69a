import type { FailureClass } from '#contracts';
import type { AuthScope } from '../destination/control.js';
import type { Outcome } from '../outcome.js';
import type { Backoff } from '../target.js';
import { fullJitterMs } from './backoff.js';
import { type Limit, runOut } from './run-out.js';

export interface DecideContext {
  /** Repeating the same request has no second effect. */
  repeatable: boolean;
  /** The destination can be asked for a record of this kind. */
  canLookUp: boolean;
  /** An earlier call of this operation may have been executed, and nobody knows. */
  doubtful: boolean;
  /** Calls that counted since the last approval, the judged one included. */
  attempt: number;
  /** So many at most. */
  attempts: number;
  /** Until the deadline, in milliseconds. */
  leftMs: number;
  /** The call was made to find out whether its destination is back. */
  probe: boolean;
  /** Of an `auth` outcome: whom it concerns. */
  authScope?: AuthScope;
  backoff: Backoff;
  /** 0 ≤ random < 1. */
  random: number;
}

/** `spends`: the call counts against the policy's attempts. `doubtful`: it may have been executed. */
interface Judged {
  spends: boolean;
  doubtful: boolean;
}

/** What becomes of an operation after a call. `delayMs` runs until the next attempt. */
export type Verdict = Judged &
  (
    | { state: 'succeeded'; ref?: string }
    | { state: 'erased' }
    | { state: 'waiting'; code: string; delayMs: number }
    /** `class`: as what this call was refused for good; it ends so where no earlier one was executed. */
    | { state: 'uncertain'; class?: FailureClass; code: string }
    | { state: 'dead'; class: FailureClass; code: string }
    | { state: 'expired'; class: FailureClass; code: string }
  );

/**
 * Judges one call. What may have happened and cannot be repeated is `uncertain`; what is refused for good is dead, unless an earlier call may
 * have been executed and a lookup can say so: a refusal, by a gateway most of the time, speaks of its own call alone. The rest waits, unless
 * one of its limits is reached. Throttling, a destination that refuses all of us, a probe, and a call that was not made spend no attempt.
 */
export function decide(outcome: Outcome, context: DecideContext): Verdict {
  switch (outcome.kind) {
    case 'succeeded':
    case 'duplicate':
      return { state: 'succeeded', ref: outcome.ref, spends: true, doubtful: false };
    case 'erased':
      return { state: 'erased', spends: false, doubtful: false };
    case 'permanent':
      return refusedForGood(outcome.class, outcome.code, context);
    case 'auth':
      if (context.authScope === 'lead') return refusedForGood('auth', outcome.code, context);
      return again(outcome, context, { spends: false, doubtful: false });
    case 'throttled':
      return again(outcome, context, { spends: false, doubtful: false });
    case 'transient':
    case 'uncertain': {
      const doubtful = outcome.kind === 'uncertain' || !outcome.provablyNotExecuted;
      const judged = { spends: !context.probe && !outcome.notCalled, doubtful };
      if (doubtful && !context.repeatable) return { ...judged, state: 'uncertain', code: outcome.code };
      return again(outcome, context, judged);
    }
  }
}

function refusedForGood(failure: FailureClass, code: string, { doubtful, canLookUp }: DecideContext): Verdict {
  const refused = { class: failure, code, spends: true, doubtful: false };
  return doubtful && canLookUp ? { ...refused, state: 'uncertain' } : { ...refused, state: 'dead' };
}

type Unfinished = Extract<Outcome, { kind: 'auth' | 'throttled' | 'transient' | 'uncertain' }>;

function again(outcome: Unfinished, context: DecideContext, judged: Judged): Verdict {
  const delayMs = delayOf(outcome, context);
  const limit = limitReached(context, { ...judged, delayMs });
  // What has no call left before its deadline waits for it all the same: it ends there, by the timer, and not before.
  if (limit === undefined)
    return { ...judged, state: 'waiting', code: outcome.code, delayMs: Math.min(delayMs, Math.ceil(context.leftMs)) };
  const doubtful = judged.doubtful || context.doubtful;
  return { ...judged, ...runOut(limit, { doubtful, canLookUp: context.canLookUp }), code: outcome.code };
}

/** A doubt about this very call that a lookup can settle is not left until the deadline where no further call would be made. */
function limitReached(context: DecideContext, { spends, doubtful, delayMs }: Judged & { delayMs: number }): Limit | undefined {
  const { canLookUp, leftMs } = context;
  if (leftMs <= 0 || (doubtful && canLookUp && delayMs >= leftMs)) return 'deadline';
  return spends && context.attempt >= context.attempts ? 'attempts' : undefined;
}

/** The longest a destination can make one lead wait by asking: an hour. A whole destination that asks for longer is held back by its state. */
const longestAskedMs = 3_600_000;

/** What the destination asked for plus up to a second, so that waiting callers do not return together; our own back-off where longer. */
function delayOf({ afterMs = 0 }: Unfinished, { backoff, attempt, random }: DecideContext): number {
  const asked = afterMs > 0 ? Math.ceil(Math.min(afterMs, longestAskedMs)) + Math.floor(random * 1_000) : 0;
  return Math.max(asked, fullJitterMs(backoff, attempt, random));
}
