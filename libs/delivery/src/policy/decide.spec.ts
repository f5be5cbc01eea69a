import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { AuthScope } from '../destination/control.js';
import type { Outcome } from '../outcome.js';
import { type DecideContext, decide, type Verdict } from './decide.js';

const unexecuted: Outcome = { kind: 'transient', code: 'econnrefused', provablyNotExecuted: true };
const reset: Outcome = { kind: 'transient', code: 'econnreset', provablyNotExecuted: false };
const timeout: Outcome = { kind: 'uncertain', code: 'timeout' };
const throttled: Outcome = { kind: 'throttled', code: 'http_429' };
const refusal: Outcome = { kind: 'permanent', class: 'permanent', code: 'http_422' };
const auth: Outcome = { kind: 'auth', code: 'http_401' };
/** The destination's own check call passes: its rights are those of this lead alone. */
const ofLead: Outcome = { kind: 'auth', code: 'http_403' };

type Situation =
  | 'first'
  | 'second, doubtful before'
  | 'last'
  | 'last, doubtful before'
  | 'no time'
  | 'no time, doubtful before'
  | 'over'
  | 'over, doubtful before'
  | 'probe';
type Destination = 'repeatable, looked up' | 'repeatable, blind' | 'not repeatable';
type Expected = 'succeeded' | 'erased' | 'waiting' | 'waiting, spent' | 'uncertain' | 'dead' | 'expired';

/** Four calls allowed; the last is the fourth. No time: less is left than the next call has to wait. Over: the deadline has passed. */
const situations: Record<Situation, Partial<DecideContext>> = {
  first: { attempt: 1 },
  'second, doubtful before': { attempt: 2, doubtful: true },
  last: { attempt: 4 },
  'last, doubtful before': { attempt: 4, doubtful: true },
  'no time': { attempt: 1, leftMs: 5 },
  'no time, doubtful before': { attempt: 1, leftMs: 5, doubtful: true },
  over: { attempt: 1, leftMs: 0 },
  'over, doubtful before': { attempt: 1, leftMs: 0, doubtful: true },
  probe: { attempt: 4, probe: true },
};
const destinations: Record<Destination, Partial<DecideContext>> = {
  'repeatable, looked up': { repeatable: true, canLookUp: true },
  'repeatable, blind': { repeatable: true, canLookUp: false },
  'not repeatable': { repeatable: false, canLookUp: true },
};

const columns = ['repeatable, looked up', 'repeatable, blind', 'not repeatable'] as const;

/**
 * Written by hand, not from the code: RFC 9110 §9.2.2 (a request may be repeated by itself only where it is idempotent, or where it is known
 * that it was not applied), RFC 6585 §4 (429 says how long to wait and nothing about the request), RFC 9110 §15.5.2 and §15.5.4 (401 and
 * 403 say that nothing was done; of the request that they answer, §15, and of no earlier one), Stripe's and HubSpot's error pages (a repeated key returns the first answer; 4xx other than 409, 423 and
 * 429 never gets better by itself), and the limits that every policy has: so many calls, and a deadline, at which what is open ends and
 * before which nothing does for want of time.
 *
 * Columns: a destination that takes repetitions and can be asked; one that takes them and cannot; one that would make a second record.
 */
const table: [Outcome, Situation, ...Expected[]][] = [
  [{ kind: 'succeeded', ref: '1' }, 'first', 'succeeded', 'succeeded', 'succeeded'],
  [{ kind: 'succeeded', ref: '1' }, 'over, doubtful before', 'succeeded', 'succeeded', 'succeeded'],
  [{ kind: 'duplicate', ref: '1' }, 'last', 'succeeded', 'succeeded', 'succeeded'],
  [{ kind: 'erased' }, 'first', 'erased', 'erased', 'erased'],

  [unexecuted, 'first', 'waiting, spent', 'waiting, spent', 'waiting, spent'],
  [unexecuted, 'last', 'dead', 'dead', 'dead'],
  [unexecuted, 'last, doubtful before', 'uncertain', 'dead', 'uncertain'],
  [unexecuted, 'no time', 'waiting, spent', 'waiting, spent', 'waiting, spent'],
  [unexecuted, 'no time, doubtful before', 'waiting, spent', 'waiting, spent', 'waiting, spent'],
  [unexecuted, 'over', 'expired', 'expired', 'expired'],
  [unexecuted, 'over, doubtful before', 'uncertain', 'uncertain', 'uncertain'],
  [unexecuted, 'probe', 'waiting', 'waiting', 'waiting'],

  [reset, 'first', 'waiting, spent', 'waiting, spent', 'uncertain'],
  [reset, 'last', 'uncertain', 'dead', 'uncertain'],
  [reset, 'no time', 'uncertain', 'waiting, spent', 'uncertain'],
  [reset, 'over', 'uncertain', 'uncertain', 'uncertain'],
  [reset, 'probe', 'waiting', 'waiting', 'uncertain'],
  [timeout, 'first', 'waiting, spent', 'waiting, spent', 'uncertain'],
  [timeout, 'last', 'uncertain', 'dead', 'uncertain'],
  [timeout, 'no time', 'uncertain', 'waiting, spent', 'uncertain'],
  [timeout, 'over', 'uncertain', 'uncertain', 'uncertain'],
  [timeout, 'probe', 'waiting', 'waiting', 'uncertain'],

  [throttled, 'first', 'waiting', 'waiting', 'waiting'],
  [throttled, 'last', 'waiting', 'waiting', 'waiting'],
  [throttled, 'no time', 'waiting', 'waiting', 'waiting'],
  [throttled, 'no time, doubtful before', 'waiting', 'waiting', 'waiting'],
  [throttled, 'over', 'expired', 'expired', 'expired'],
  [throttled, 'over, doubtful before', 'uncertain', 'uncertain', 'uncertain'],

  [refusal, 'first', 'dead', 'dead', 'dead'],
  [refusal, 'probe', 'dead', 'dead', 'dead'],
  [refusal, 'second, doubtful before', 'uncertain', 'dead', 'uncertain'],
  [refusal, 'last, doubtful before', 'uncertain', 'dead', 'uncertain'],
  [refusal, 'over, doubtful before', 'uncertain', 'dead', 'uncertain'],
  [ofLead, 'first', 'dead', 'dead', 'dead'],
  [ofLead, 'second, doubtful before', 'uncertain', 'dead', 'uncertain'],
  [auth, 'first', 'waiting', 'waiting', 'waiting'],
  [auth, 'last', 'waiting', 'waiting', 'waiting'],
  [auth, 'no time', 'waiting', 'waiting', 'waiting'],
  [auth, 'over', 'expired', 'expired', 'expired'],
  [auth, 'over, doubtful before', 'uncertain', 'uncertain', 'uncertain'],
];

const usual: DecideContext = {
  repeatable: true,
  canLookUp: true,
  doubtful: false,
  attempt: 1,
  attempts: 4,
  leftMs: 3_600_000,
  probe: false,
  authScope: 'destination',
  backoff: { baseMs: 15_000, capMs: 300_000 },
  random: 0.5,
};

const short = (verdict: Verdict): string => (verdict.state === 'waiting' && verdict.spends ? 'waiting, spent' : verdict.state);

describe('the judgement of a call', () => {
  const rows = table.flatMap(([outcome, situation, ...expected]) =>
    columns.map((column, index) => [outcome.kind, situation, column, expected[index], outcome] as const),
  );

  it.each(rows)('%s, %s, at a destination %s: %s', (_kind, situation, column, expected, outcome) => {
    const authScope = outcome === ofLead ? 'lead' : 'destination';
    expect(short(decide(outcome, { ...usual, authScope, ...situations[situation], ...destinations[column] }))).toBe(expected);
  });

  it('says which limit was reached, with the code of the last call', () => {
    expect(decide(unexecuted, { ...usual, attempt: 4 })).toMatchObject({ class: 'attempts_exhausted', code: 'econnrefused' });
    expect(decide(throttled, { ...usual, leftMs: 0 })).toMatchObject({ class: 'deadline_exceeded', code: 'http_429' });
  });

  it('takes a refusal of this lead alone for its end, of any class that the destination names', () => {
    expect(decide(auth, { ...usual, authScope: 'lead' })).toMatchObject({ state: 'dead', class: 'auth', code: 'http_401', spends: true });
    expect(decide(auth, { ...usual, authScope: 'lead', doubtful: true })).toMatchObject({
      state: 'uncertain',
      class: 'auth',
      code: 'http_401',
    });
    const named: Outcome = { kind: 'permanent', class: 'protected_field', code: 'phone' };
    for (const doubtful of [false, true]) {
      const state = doubtful ? 'uncertain' : 'dead';
      expect(decide(named, { ...usual, doubtful })).toMatchObject({ state, class: 'protected_field', code: 'phone', doubtful: false });
    }
  });

  const outcomes = fc.constantFrom<Outcome>(
    { kind: 'succeeded', ref: '1' },
    { kind: 'duplicate', ref: '1' },
    { kind: 'erased' },
    unexecuted,
    reset,
    timeout,
    throttled,
    { ...throttled, afterMs: 90_000 },
    { ...timeout, afterMs: 400_000 },
    refusal,
    auth,
  );
  const contexts = fc.record<DecideContext>({
    repeatable: fc.boolean(),
    canLookUp: fc.boolean(),
    doubtful: fc.boolean(),
    attempt: fc.integer({ min: 1, max: 12 }),
    attempts: fc.integer({ min: 1, max: 8 }),
    leftMs: fc.integer({ min: -1_000, max: 1_000_000 }),
    probe: fc.boolean(),
    authScope: fc.constantFrom<AuthScope>('destination', 'lead'),
    backoff: fc.constant({ baseMs: 15_000, capMs: 300_000 }),
    random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  });
  const mayHaveHappened = (outcome: Outcome) =>
    outcome.kind === 'uncertain' || (outcome.kind === 'transient' && !outcome.provablyNotExecuted);
  const holds = (property: (verdict: Verdict, outcome: Outcome, context: DecideContext) => void) =>
    fc.assert(
      fc.property(outcomes, contexts, (outcome, context) => property(decide(outcome, context), outcome, context)),
      { numRuns: 2_000 },
    );

  it('never repeats what may have happened where a repetition is a second effect', () => {
    holds((verdict, outcome, { repeatable }) => {
      if (mayHaveHappened(outcome) && !repeatable) expect(verdict.state).toBe('uncertain');
    });
  });

  it('gives nothing up that may have happened and can be looked up', () => {
    holds((verdict, outcome, { canLookUp, doubtful }) => {
      const inDoubt = mayHaveHappened(outcome) || doubtful;
      if (inDoubt && canLookUp) expect(['dead', 'expired']).not.toContain(verdict.state);
      if (inDoubt) expect(verdict.state).not.toBe('expired');
    });
  });

  it('succeeds exactly where the destination says so', () => {
    holds((verdict, outcome) => expect(verdict.state === 'succeeded').toBe(outcome.kind === 'succeeded' || outcome.kind === 'duplicate'));
  });

  it('waits only while both a call and time are left, and spends nothing on what says nothing about the lead', () => {
    holds((verdict, outcome, { leftMs, attempt, attempts, probe, authScope }) => {
      if (verdict.state === 'waiting') expect(leftMs).toBeGreaterThan(0);
      if (verdict.state === 'waiting') expect(verdict.delayMs).toBeLessThanOrEqual(leftMs);
      if (verdict.state === 'waiting' && verdict.spends) expect(attempt).toBeLessThan(attempts);
      if (outcome.kind === 'throttled' || (probe && verdict.state === 'waiting')) expect(verdict.spends).toBe(false);
      if (outcome.kind === 'auth') expect(verdict.spends).toBe(authScope === 'lead');
    });
  });

  it('ends nothing for want of time before its deadline, to the millisecond', () => {
    holds((verdict, _outcome, { leftMs }) => {
      if (verdict.state === 'expired') expect(leftMs).toBeLessThanOrEqual(0);
    });
    const asked: Outcome = { ...throttled, afterMs: 600_000 };
    expect(decide(asked, { ...usual, leftMs: 90_000.4 })).toMatchObject({ state: 'waiting', delayMs: 90_001 });
    expect(decide(asked, { ...usual, leftMs: 3_600_000 })).toMatchObject({ state: 'waiting', delayMs: 600_500 });
  });

  it('is in doubt about this call exactly where it may have happened', () => {
    holds((verdict, outcome) => expect(verdict.doubtful).toBe(mayHaveHappened(outcome)));
  });

  it('waits at least as long as the destination asks, an hour at most, and at most a second longer than the longer of the two', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 31 * 365 * 86_400_000 }),
        fc.integer({ min: 1, max: 20 }),
        contexts,
        (afterMs, attempt, context) => {
          const outcome: Outcome = { kind: 'throttled', code: 'x', afterMs };
          const verdict = decide(outcome, { ...context, attempt, leftMs: Number.POSITIVE_INFINITY });
          if (verdict.state !== 'waiting') throw new Error('must wait');
          const asked = Math.min(afterMs, 3_600_000);
          expect(verdict.delayMs).toBeGreaterThanOrEqual(asked);
          expect(verdict.delayMs).toBeLessThan(Math.max(asked + 1, 300_000) + 1_000);
        },
      ),
    );
  });
});
