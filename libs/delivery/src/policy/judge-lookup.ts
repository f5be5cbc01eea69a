import type { LookupResult } from '../outcome.js';
import type { Verification } from '../target.js';

export interface LookupFacts {
  /** When this lookup began, by the database's clock; all times in epoch milliseconds. */
  nowMs: number;
  /** When the doubtful call began. */
  sentAtMs: number;
  /** Limit of one call. */
  timeoutMs: number;
  verification: Verification;
  /** Counted so far, and when the last one was. */
  absences: number;
  lookedUpAtMs?: number;
  /** Its owner was told that it stays unanswered. */
  raised: boolean;
  deadlineAtMs: number;
  /** Calls since the last approval, and how many are allowed. */
  attempts: number;
  attemptsAllowed: number;
  /** 0 ≤ random < 1. */
  random: number;
}

/** What becomes of an uncertain operation. `raise`: its owner is to be told, once. `delayMs` runs until the next lookup; absent: none comes. */
export type LookupVerdict =
  | { kind: 'found'; ref: string }
  | { kind: 'absent'; next: 'waiting' | 'attempts_exhausted' | 'deadline_exceeded' }
  | { kind: 'several' }
  | { kind: 'again'; absences: number; counted: boolean; raise: boolean; delayMs?: number };

/** Two, so that a search that missed once is not enough for a second effect. */
const absencesNeeded = 2;
const shortestWaitMs = 1_000;
const longestWaitMs = 300_000;
/** Between lookups once a person has been told. */
const raisedWaitMs = 3_600_000;

/** From when on a lookup that finds nothing says something: the call is over, the destination has finished, its search has caught up. */
export function absenceCountsFrom({
  sentAtMs,
  timeoutMs,
  verification,
}: Pick<LookupFacts, 'sentAtMs' | 'timeoutMs' | 'verification'>): number {
  return sentAtMs + timeoutMs + verification.maxExecutionMs + verification.searchLagMs;
}

/**
 * Judges one lookup; `undefined` where nothing can be looked up here. A record that is found settles the operation at any time. Nothing found
 * counts only from a lookup that began after the call could have taken effect and become visible, twice, a search lag apart. What stays
 * unanswered until the horizon is told to its owner, and after that nothing is sent again by itself. An absence that counts is half an
 * answer: it is not told, however late it came, since the second half decides in a moment.
 */
export function judgeLookup(result: LookupResult | undefined, facts: LookupFacts): LookupVerdict {
  if (result?.kind === 'found') return { kind: 'found', ref: result.ref };
  if (result?.kind === 'several') return { kind: 'several' };
  if (result?.kind !== 'absent') return again(facts, { counted: false, absent: false, searchable: result !== undefined });
  const counted = counts(facts);
  if (counted && facts.absences + 1 >= absencesNeeded && !facts.raised) return { kind: 'absent', next: afterAbsence(facts) };
  return again(facts, { counted, absent: true, searchable: true });
}

/** What an operation that was proved not executed may still become. */
export function afterAbsence(
  facts: Pick<LookupFacts, 'attempts' | 'attemptsAllowed' | 'deadlineAtMs' | 'nowMs'>,
): 'waiting' | 'attempts_exhausted' | 'deadline_exceeded' {
  if (facts.deadlineAtMs <= facts.nowMs) return 'deadline_exceeded';
  return facts.attempts >= facts.attemptsAllowed ? 'attempts_exhausted' : 'waiting';
}

function counts(facts: LookupFacts): boolean {
  if (facts.nowMs < absenceCountsFrom(facts)) return false;
  if (facts.absences === 0 || facts.lookedUpAtMs === undefined) return true;
  return facts.nowMs - facts.lookedUpAtMs >= facts.verification.searchLagMs;
}

interface Looked {
  counted: boolean;
  absent: boolean;
  searchable: boolean;
}

function again(facts: LookupFacts, { counted, absent, searchable }: Looked): LookupVerdict {
  const absences = Math.min(facts.absences + Number(counted), absencesNeeded);
  const untilHorizon = facts.sentAtMs + facts.verification.horizonMs - facts.nowMs;
  const halfProved = absent && absences > 0;
  const raise = !facts.raised && untilHorizon <= 0 && !halfProved;
  const verdict = { kind: 'again', absences, counted, raise } as const;
  if (!searchable) return raise || facts.raised ? verdict : { ...verdict, delayMs: untilHorizon };
  if (raise || facts.raised) return { ...verdict, delayMs: Math.floor(raisedWaitMs * (0.5 + facts.random / 2)) };
  return { ...verdict, delayMs: halfProved ? waitMs(facts, counted) : Math.min(waitMs(facts, counted), untilHorizon) };
}

function waitMs(facts: LookupFacts, counted: boolean): number {
  const { searchLagMs } = facts.verification;
  const early = absenceCountsFrom(facts) - facts.nowMs;
  if (early > 0) return early;
  if (counted) return Math.max(searchLagMs, 1);
  const lagLeft = (facts.absences > 0 && facts.lookedUpAtMs !== undefined ? facts.lookedUpAtMs + searchLagMs : 0) - facts.nowMs;
  if (lagLeft > 0) return lagLeft;
  // As long again as it has been unanswered: doubling, without a counter.
  const upper = Math.min(Math.max(-early, searchLagMs, shortestWaitMs), longestWaitMs);
  return Math.ceil(upper / 2 + (facts.random * upper) / 2);
}
