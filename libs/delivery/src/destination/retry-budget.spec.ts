import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RetryBudget } from './retry-budget.js';

describe('the retry budget', () => {
  it('is a share of the requests of the last minute, ten retries at least', () => {
    const budget = new RetryBudget(0.2);
    let retries = 0;
    for (let n = 0; n < 96; n++) budget.count(false, 0);
    for (; budget.allowsRetry(1_000); retries++) budget.count(true, 1_000);
    expect(retries).toBe(24);
    const idle = new RetryBudget(0.2);
    let allowed = 0;
    for (; idle.allowsRetry(0); allowed++) idle.count(true, 0);
    expect(allowed).toBe(10);
  });

  it('is there again a minute later, not before', () => {
    const budget = new RetryBudget(0);
    for (let n = 0; n < 10; n++) budget.count(true, 500);
    expect(budget.allowsRetry(60_400)).toBe(false);
    expect(budget.allowsRetry(62_000)).toBe(true);
  });

  it('holds at every moment over the minute before it, whatever is asked', () => {
    const call = fc.record({ retry: fc.boolean(), gapMs: fc.nat(3_000) });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 400 }), fc.constantFrom(0.1, 0.2, 0.5), (calls, share) => {
        const budget = new RetryBudget(share);
        const made: { retry: boolean; atMs: number }[] = [];
        let nowMs = 0;
        for (const { retry, gapMs } of calls) {
          nowMs += gapMs;
          if (retry && !budget.allowsRetry(nowMs)) continue;
          budget.count(retry, nowMs);
          made.push({ retry, atMs: nowMs });
          if (!retry) continue;
          // Whole seconds are counted: up to one more than a minute.
          const recent = made.filter(({ atMs }) => Math.floor(nowMs / 1_000) - Math.floor(atMs / 1_000) <= 60);
          const retries = recent.filter((one) => one.retry).length;
          expect(retries).toBeLessThanOrEqual(Math.max(10, recent.length * share + 1e-6));
        }
      }),
    );
  });

  it('never holds back a first attempt by itself', () => {
    const budget = new RetryBudget(0.2);
    for (let n = 0; n < 100; n++) budget.count(true, 0);
    for (let n = 0; n < 500; n++) budget.count(false, 1_000);
    expect(budget.allowsRetry(1_000)).toBe(true);
  });
});
