import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { LookupResult } from '../outcome.js';
import { absenceCountsFrom, judgeLookup, type LookupFacts } from './judge-lookup.js';

/** Sent at 100,000; a lookup counts from 100,000 + 10,000 + 60,000 + 30,000 on. */
const countsFromMs = 200_000;
const facts = (more: Partial<LookupFacts> = {}): LookupFacts => ({
  nowMs: countsFromMs,
  sentAtMs: 100_000,
  timeoutMs: 10_000,
  verification: { maxExecutionMs: 60_000, searchLagMs: 30_000, horizonMs: 1_800_000 },
  absences: 0,
  raised: false,
  deadlineAtMs: 10_000_000,
  attempts: 1,
  attemptsAllowed: 4,
  random: 0.5,
  ...more,
});
const absent: LookupResult = { kind: 'absent' };
const unknown: LookupResult = { kind: 'unknown', code: 'http_503' };

describe('a lookup of an uncertain operation', () => {
  it('settles it whenever the record is found', () => {
    for (const nowMs of [100_001, countsFromMs, 9_000_000]) {
      expect(judgeLookup({ kind: 'found', ref: 'R-1' }, facts({ nowMs, raised: nowMs > 5_000_000 }))).toEqual({
        kind: 'found',
        ref: 'R-1',
      });
    }
  });

  it('says nothing by absence before the provider could have finished and its search caught up', () => {
    const verdict = judgeLookup(absent, facts({ nowMs: countsFromMs - 1 }));
    expect(verdict).toEqual({ kind: 'again', absences: 0, counted: false, raise: false, delayMs: 1 });
  });

  it('needs two absences a lag apart', () => {
    expect(judgeLookup(absent, facts())).toEqual({ kind: 'again', absences: 1, counted: true, raise: false, delayMs: 30_000 });
    const second = { absences: 1, lookedUpAtMs: countsFromMs };
    expect(judgeLookup(absent, facts({ ...second, nowMs: countsFromMs + 29_999 }))).toEqual({
      kind: 'again',
      absences: 1,
      counted: false,
      raise: false,
      delayMs: 1,
    });
    expect(judgeLookup(absent, facts({ ...second, nowMs: countsFromMs + 30_000 }))).toEqual({ kind: 'absent', next: 'waiting' });
  });

  it('ends what was proved absent where a limit is reached', () => {
    const proved = { absences: 1, lookedUpAtMs: countsFromMs, nowMs: countsFromMs + 30_000 };
    expect(judgeLookup(absent, facts({ ...proved, attempts: 4 }))).toEqual({ kind: 'absent', next: 'attempts_exhausted' });
    expect(judgeLookup(absent, facts({ ...proved, attempts: 4, deadlineAtMs: proved.nowMs }))).toEqual({
      kind: 'absent',
      next: 'deadline_exceeded',
    });
  });

  it('never counts as an absence when it fails, and waits longer each time', () => {
    const first = judgeLookup(unknown, facts({ absences: 1, lookedUpAtMs: countsFromMs - 60_000, nowMs: countsFromMs + 1_000 }));
    expect(first).toEqual({ kind: 'again', absences: 1, counted: false, raise: false, delayMs: 22_500 });
    const later = judgeLookup(unknown, facts({ nowMs: countsFromMs + 200_000 }));
    expect(later).toMatchObject({ absences: 0, counted: false, delayMs: 150_000 });
  });

  it('never takes the first of several', () => {
    expect(judgeLookup({ kind: 'several', refs: ['R-1', 'R-2'] }, facts())).toEqual({ kind: 'several' });
  });

  it('is raised once, at the horizon, however it is left unanswered', () => {
    const horizon = facts().sentAtMs + facts().verification.horizonMs;
    for (const result of [undefined, unknown]) {
      expect(judgeLookup(result, facts({ nowMs: horizon }))).toMatchObject({ kind: 'again', raise: true });
      expect(judgeLookup(result, facts({ nowMs: horizon + 1, raised: true }))).toMatchObject({ kind: 'again', raise: false });
    }
    expect(judgeLookup(unknown, facts({ nowMs: horizon - 10 }))).toMatchObject({ raise: false, delayMs: 10 });
  });

  it('is not raised for our own delay: absences that count prove it also after the horizon, while they come one after the other', () => {
    const late = facts().sentAtMs + facts().verification.horizonMs + 60_000;
    expect(judgeLookup(absent, facts({ nowMs: late }))).toEqual({
      kind: 'again',
      absences: 1,
      counted: true,
      raise: false,
      delayMs: 30_000,
    });
    const second = { absences: 1, lookedUpAtMs: late };
    expect(judgeLookup(absent, facts({ ...second, nowMs: late + 1_000 }))).toMatchObject({ raise: false, counted: false, delayMs: 29_000 });
    expect(judgeLookup(absent, facts({ ...second, nowMs: late + 30_000 }))).toEqual({ kind: 'absent', next: 'waiting' });
    expect(judgeLookup(unknown, facts({ ...second, nowMs: late + 30_000 }))).toMatchObject({ kind: 'again', raise: true });
    // Told once, it stays with whoever was told.
    expect(judgeLookup(absent, facts({ nowMs: late, raised: true }))).toMatchObject({ kind: 'again', counted: true, raise: false });
  });

  it('does not cut the wait for the second absence short at the horizon', () => {
    const horizon = facts().sentAtMs + facts().verification.horizonMs;
    expect(judgeLookup(absent, facts({ nowMs: horizon - 10 }))).toMatchObject({ counted: true, delayMs: 30_000 });
  });

  it('without a lookup comes back at the horizon, and after that never', () => {
    expect(judgeLookup(undefined, facts())).toEqual({ kind: 'again', absences: 0, counted: false, raise: false, delayMs: 1_700_000 });
    expect(judgeLookup(undefined, facts({ nowMs: 2_000_000 }))).toEqual({ kind: 'again', absences: 0, counted: false, raise: true });
  });

  const times = fc.record({
    nowMs: fc.integer({ min: 100_000, max: 4_000_000 }),
    absences: fc.nat(1),
    agoMs: fc.integer({ min: 0, max: 100_000 }),
    raised: fc.boolean(),
    attempts: fc.integer({ min: 1, max: 6 }),
    random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  });

  it('lets nothing be sent again but after two absences that count, a lag apart, before anybody was told', () => {
    fc.assert(
      fc.property(times, fc.constantFrom(absent, unknown, undefined), ({ agoMs, ...more }, result) => {
        const judged = facts({ ...more, lookedUpAtMs: more.absences > 0 ? more.nowMs - agoMs : undefined });
        const verdict = judgeLookup(result, judged);
        if (verdict.kind !== 'absent') return;
        expect(result).toBe(absent);
        expect(judged.absences).toBe(1);
        expect(judged.raised).toBe(false);
        expect(judged.nowMs).toBeGreaterThanOrEqual(absenceCountsFrom(judged));
        expect(agoMs).toBeGreaterThanOrEqual(judged.verification.searchLagMs);
      }),
    );
  });

  it('always comes to an end or comes again after a while', () => {
    fc.assert(
      fc.property(times, fc.constantFrom(absent, unknown), ({ agoMs, ...more }, result) => {
        const verdict = judgeLookup(result, facts({ ...more, lookedUpAtMs: more.absences > 0 ? more.nowMs - agoMs : undefined }));
        if (verdict.kind === 'again') expect(verdict.delayMs).toBeGreaterThan(0);
      }),
    );
  });
});
