import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Outcome } from '../outcome.js';
import { fullJitterMs } from './backoff.js';
import { decide } from './decide.js';

/** Written by hand from the failure policy: what each outcome becomes with and without native idempotency. */
const table: [outcome: Outcome, native: string, other: string][] = [
  [{ kind: 'succeeded', ref: '1' }, 'succeeded', 'succeeded'],
  [{ kind: 'erased' }, 'erased', 'erased'],
  [{ kind: 'throttled', code: 'http_429' }, 'waiting', 'waiting'],
  [{ kind: 'transient', code: 'econnrefused', provablyNotExecuted: true }, 'waiting', 'waiting'],
  [{ kind: 'transient', code: 'reset', provablyNotExecuted: false }, 'waiting', 'uncertain'],
  [{ kind: 'uncertain', code: 'timeout' }, 'waiting', 'uncertain'],
  [{ kind: 'permanent', class: 'permanent', code: 'http_422' }, 'waiting', 'waiting'],
  [{ kind: 'permanent', class: 'auth', code: 'http_401' }, 'waiting', 'waiting'],
];

const outcomes = fc.constantFrom(...table.map(([outcome]) => outcome));
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const attempt = fc.integer({ min: 1, max: 1_000 });

describe('the judgement of a call', () => {
  it.each(table)('%j is %s with native idempotency, %s without', (outcome, native, other) => {
    const context = { attempt: 1, random: 0.5 };
    expect(decide(outcome, { ...context, nativeIdempotency: true }).state).toBe(native);
    expect(decide(outcome, { ...context, nativeIdempotency: false }).state).toBe(other);
  });

  it('never repeats what may have happened where a repetition is a second effect', () => {
    fc.assert(
      fc.property(outcomes, attempt, random, (outcome, n, r) => {
        const verdict = decide(outcome, { nativeIdempotency: false, attempt: n, random: r });
        const mayHaveHappened = outcome.kind === 'uncertain' || (outcome.kind === 'transient' && !outcome.provablyNotExecuted);
        expect(verdict.state === 'waiting' && mayHaveHappened).toBe(false);
      }),
    );
  });

  it('ends nothing without its effect', () => {
    fc.assert(
      fc.property(outcomes, fc.boolean(), attempt, random, (outcome, nativeIdempotency, n, r) => {
        const { state } = decide(outcome, { nativeIdempotency, attempt: n, random: r });
        expect(state === 'succeeded').toBe(outcome.kind === 'succeeded');
        expect(state === 'erased').toBe(outcome.kind === 'erased');
      }),
    );
  });

  it('waits five minutes at most, however long the destination asks', () => {
    const verdict = decide(
      { kind: 'throttled', code: 'x', afterMs: 31 * 365 * 86_400_000 },
      { nativeIdempotency: true, attempt: 1, random: 0 },
    );
    expect(verdict).toMatchObject({ state: 'waiting', delayMs: 300_000 });
  });

  it('waits at least as long as the destination asked, and at most a second longer than the longer of the two', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300_000 }), attempt, random, (afterMs, n, r) => {
        const verdict = decide({ kind: 'throttled', code: 'x', afterMs }, { nativeIdempotency: true, attempt: n, random: r });
        if (verdict.state !== 'waiting') throw new Error('must wait');
        expect(verdict.delayMs).toBeGreaterThanOrEqual(afterMs);
        expect(verdict.delayMs).toBeLessThan(Math.max(afterMs, 30_000) + 1_000);
      }),
    );
  });
});

describe('full jitter', () => {
  it.each([
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [4, 8_000],
    [5, 16_000],
    [6, 30_000],
    [60, 30_000],
  ])('after attempt %i is anything below %i ms', (n, ceiling) => {
    expect(fullJitterMs(n, 0)).toBe(0);
    expect(fullJitterMs(n, 0.999999)).toBe(ceiling - 1);
  });
});
