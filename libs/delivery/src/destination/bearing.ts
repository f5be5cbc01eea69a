import type { Outcome } from '../outcome.js';

/** What a call's outcome says about its destination, whatever it means for its lead. */
export type Bearing = 'answered' | 'failed' | 'throttled' | 'auth' | 'none';

/** A refusal of this lead is an answer: a poison lead says nothing against its destination. */
export function bearingOf(outcome: Outcome): Bearing {
  if (outcome.notCalled) return 'none';
  switch (outcome.kind) {
    case 'succeeded':
    case 'duplicate':
    case 'permanent':
      return 'answered';
    case 'transient':
      // A 4xx that did nothing (locked, too early, not there any more) speaks of this one request.
      return outcome.status !== undefined && outcome.status < 500 ? 'answered' : 'failed';
    case 'uncertain':
      return outcome.answered ? 'answered' : 'failed';
    case 'throttled':
      return 'throttled';
    case 'auth':
      return 'auth';
    case 'erased':
      return 'none';
  }
}

/** Nothing was reached: no name, refused, TLS, connect timeout. Needs no more leads to be believed. */
export function isUnreached(outcome: Outcome): boolean {
  return outcome.kind === 'transient' && outcome.provablyNotExecuted && outcome.status === undefined && !outcome.notCalled;
}

/** The call failed and will be made again, whomever its failure speaks of. */
export function asksForRetry(outcome: Outcome): boolean {
  if (outcome.notCalled) return false;
  return outcome.kind === 'transient' || (outcome.kind === 'uncertain' && outcome.answered !== true);
}
