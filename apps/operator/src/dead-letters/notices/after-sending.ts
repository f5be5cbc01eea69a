import type { Outcome } from '#delivery';

export type NoticeEnd =
  | { state: 'sent'; reference?: string }
  | { state: 'uncertain' | 'refused'; code: string }
  | { state: 'waiting'; code: string; afterMs: number };

const firstWaitMs = 30_000;
const longestWaitMs = 600_000;
/** Enough for a day of waiting. */
const mostAttempts = 150;

/** What an attempt makes of a notice. Only what provably was not sent is tried again. `attempts`: with this one. Pure. */
export function afterSending(outcome: Outcome, attempts: number): NoticeEnd {
  switch (outcome.kind) {
    case 'succeeded':
    case 'duplicate':
      return { state: 'sent', reference: outcome.ref };
    case 'throttled':
    case 'auth':
      return again(outcome.code, attempts, outcome.afterMs);
    case 'transient':
      return outcome.provablyNotExecuted ? again(outcome.code, attempts, outcome.afterMs) : { state: 'uncertain', code: outcome.code };
    case 'uncertain':
      return { state: 'uncertain', code: outcome.code };
    case 'permanent':
      return { state: 'refused', code: outcome.code };
    case 'erased':
      return { state: 'refused', code: 'erased' };
  }
}

function again(code: string, attempts: number, asked = 0): NoticeEnd {
  if (attempts >= mostAttempts) return { state: 'refused', code };
  return { state: 'waiting', code, afterMs: Math.max(asked, Math.min(firstWaitMs * 2 ** Math.min(attempts - 1, 10), longestWaitMs)) };
}
