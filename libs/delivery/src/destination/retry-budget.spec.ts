import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RetryBudget } from './retry-budget.js';

const alwaysAllowed = 10;

/** A budget of a destination that fails every call. */
function failing(share: number): RetryBudget {
  const budget = new RetryBudget(share);
  for (let n = 0; n < 50; n++) budget.hear(true, 0);
  return budget;
}

/** How many retries it allows at once. */
function retriesAt(budget: RetryBudget, nowMs: number, most = 1_000): number {
  let retries = 0;
  for (; retries < most && budget.allowsRetry(nowMs); retries++) budget.count(true, nowMs);
  return retries;
}

/** How many retries and how many requests were made in the minute before; whole seconds are counted, so up to one more. */
function lastMinute(made: readonly { retry: boolean; atMs: number }[], nowMs: number): { retries: number; requests: number } {
  const recent = made.filter(({ atMs }) => Math.floor(nowMs / 1_000) - Math.floor(atMs / 1_000) <= 60);
  return { retries: recent.filter(({ retry }) => retry).length, requests: recent.length };
}

describe('the retry budget of a destination that fails', () => {
  it('is a share of the requests of the last minute, ten retries at least', () => {
    const budget = failing(0.2);
    for (let n = 0; n < 96; n++) budget.count(false, 0);
    expect(retriesAt(budget, 1_000)).toBe(24);
    expect(retriesAt(failing(0.2), 0)).toBe(10);
  });

  it('is there again a minute later, not before', () => {
    const budget = failing(0);
    for (let n = 0; n < 10; n++) budget.count(true, 500);
    expect(budget.allowsRetry(60_400)).toBe(false);
    expect(budget.allowsRetry(62_000)).toBe(true);
  });

  it('holds at every moment over the minute before it, whatever is asked', () => {
    const call = fc.record({ retry: fc.boolean(), gapMs: fc.nat(3_000) });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 400 }), fc.constantFrom(0.1, 0.2, 0.5), (calls, share) => {
        const budget = failing(share);
        const made: { retry: boolean; atMs: number }[] = [];
        let nowMs = 0;
        for (const { retry, gapMs } of calls) {
          nowMs += gapMs;
          if (retry && !budget.allowsRetry(nowMs)) continue;
          budget.count(retry, nowMs);
          budget.hear(true, nowMs);
          made.push({ retry, atMs: nowMs });
          if (!retry) continue;
          const { retries, requests } = lastMinute(made, nowMs);
          expect(retries).toBeLessThanOrEqual(Math.max(alwaysAllowed, requests * share + 1e-6));
        }
      }),
    );
  });

  it('never holds back a first attempt by itself', () => {
    const budget = failing(0.2);
    for (let n = 0; n < 100; n++) budget.count(true, 0);
    for (let n = 0; n < 500; n++) budget.count(false, 1_000);
    expect(budget.allowsRetry(1_000)).toBe(true);
  });

  /**
   * Each second some leads come in, each call that failed is due again, and of every two calls one fails, in whatever order. What was left over
   * from before, by a crash perhaps, is due at the very beginning. What is in flight before ten answers are known was let through unseen.
   */
  it('keeps retries to a fifth of the requests of any minute where every second call fails, whatever was left over before', () => {
    const scene = fc.record({
      leftOver: fc.nat(200),
      leadsPerSecond: fc.nat(10),
      concurrency: fc.integer({ min: 1, max: 16 }),
      order: fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }),
    });
    fc.assert(
      fc.property(scene, ({ leftOver, leadsPerSecond, concurrency, order }) => {
        const budget = new RetryBudget(0.2);
        const seconds: { retries: number; requests: number }[] = [];
        let [due, calls] = [leftOver, 0];
        const fails = (): boolean => (order[Math.floor(calls / 2) % order.length] ?? true) === (calls++ % 2 === 0);
        for (let second = 0; second < 130; second++) {
          const nowMs = second * 1_000;
          const made = { retries: 0, requests: 0 };
          const waiting = [...Array<boolean>(leadsPerSecond).fill(false), ...Array<boolean>(due).fill(true)];
          due = 0;
          while (waiting.length > 0) {
            const round = waiting.splice(0, concurrency).filter((retry) => {
              const goes = !retry || budget.allowsRetry(nowMs);
              if (goes) budget.count(retry, nowMs);
              else due++;
              return goes;
            });
            made.requests += round.length;
            made.retries += round.filter((retry) => retry).length;
            for (const failed of round.map(fails)) {
              budget.hear(failed, nowMs);
              if (failed) due++;
            }
          }
          seconds.push(made);
          const minute = seconds.slice(-61);
          const requests = minute.reduce((sum, one) => sum + one.requests, 0);
          const retries = minute.reduce((sum, one) => sum + one.retries, 0);
          expect(retries).toBeLessThanOrEqual(Math.max(alwaysAllowed, 0.2 * requests) + concurrency);
        }
      }),
      { numRuns: 12 },
    );
  });
});

describe('the retry budget of a destination that works', () => {
  it('lets everything through that was left over, from the first call of a process on', () => {
    const budget = new RetryBudget(0.2);
    for (let n = 0; n < 500; n++) {
      expect(budget.allowsRetry(n)).toBe(true);
      budget.count(true, n);
      // One call of ten fails.
      budget.hear(n % 10 === 0, n);
    }
  });

  it('is not concluded upon before ten answers, and holds at the first moment after them', () => {
    const budget = new RetryBudget(0.2);
    for (let n = 0; n < 9; n++) budget.hear(true, 0);
    expect(retriesAt(budget, 0, 20)).toBe(20);
    budget.hear(true, 0);
    expect(budget.allowsRetry(0)).toBe(false);
  });

  it('is free again as soon as no more than its share of the last fifty failed', () => {
    const budget = failing(0.2);
    for (let n = 0; n < 10; n++) budget.count(true, 0);
    let answers = 0;
    for (; !budget.allowsRetry(0); answers++) budget.hear(false, 0);
    expect(answers).toBe(40);
  });

  it('is free again after five minutes of silence, or when the destination was away and is back', () => {
    const silent = failing(0);
    expect(retriesAt(silent, 299_000)).toBe(10);
    expect(retriesAt(silent, 301_000, 20)).toBe(20);
    const back = failing(0);
    back.forgetAnswers();
    expect(retriesAt(back, 0, 20)).toBe(20);
  });
});
