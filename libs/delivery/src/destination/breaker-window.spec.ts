import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BreakerWindow, type SeenOutcome } from './breaker-window.js';

const policy = { window: 20, minimum: 5, ratio: 0.9, coolDownMs: 15_000, longestCoolDownMs: 60_000 };
const seen = (lead: number, failed: boolean, unreached = false): SeenOutcome => ({ operationKey: `lead-${lead}`, failed, unreached });
const trips = (outcomes: readonly SeenOutcome[], everyMs = 10): number => {
  const window = new BreakerWindow(policy);
  return outcomes.findIndex((outcome, index) => window.add(outcome, index * everyMs)) + 1;
};
const failures = (count: number) => Array.from({ length: count }, (_, lead) => seen(lead, true));
const successes = (count: number) => Array.from({ length: count }, (_, lead) => seen(100 + lead, false));

describe('the breaker', () => {
  it('concludes from five distinct operations that all failed, not from four', () => {
    expect(trips(failures(4))).toBe(0);
    expect(trips(failures(9))).toBe(5);
  });

  it('counts an operation once, however often it fails', () => {
    expect(trips(Array.from({ length: 500 }, (_, n) => seen(n % 4, true)))).toBe(0);
  });

  it('concludes from nine tenths of a full window, not from less', () => {
    expect(trips([...successes(20), ...failures(17)])).toBe(0);
    expect(trips([...successes(20), ...failures(18)])).toBe(38);
  });

  it('believes at once that nothing is reachable, even from one lead', () => {
    expect(trips([...successes(20), seen(1, true, true), seen(1, true, true)])).toBe(22);
    expect(trips([seen(1, true, true), seen(2, false), seen(1, true, true), seen(3, false)])).toBe(0);
    expect(trips([seen(1, true, true), seen(2, true), seen(1, true, true)])).toBe(3);
  });

  it('forgets what was five minutes ago', () => {
    const window = new BreakerWindow(policy);
    for (const outcome of successes(20)) window.add(outcome, 0);
    const tripped = failures(5).map((outcome, index) => window.add(outcome, 300_000 + index));
    expect(tripped).toEqual([false, false, false, false, true]);
  });

  it('begins anew after it is cleared', () => {
    const window = new BreakerWindow(policy);
    for (const outcome of failures(4)) window.add(outcome, 0);
    window.add(seen(9, true, true), 0);
    window.clear();
    expect(window.add(seen(5, true, true), 1)).toBe(false);
  });

  it('never trips while more than a tenth of any window is answered', () => {
    const outcome = fc.record({ lead: fc.nat(200), failed: fc.boolean() });
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 300 }), (outcomes) => {
        const answeredEveryThird = outcomes.map(({ lead, failed }, n) => seen(n % 3 === 0 ? 1_000 + n : lead, n % 3 !== 0 && failed));
        expect(trips(answeredEveryThird)).toBe(0);
      }),
    );
  });

  it('agrees with a count over the last outcome of each of the last operations', () => {
    const outcome = fc.record({ lead: fc.nat(40), failed: fc.boolean(), unreached: fc.boolean(), gapMs: fc.nat(20_000) });
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 200 }), (outcomes) => {
        const window = new BreakerWindow(policy);
        let nowMs = 0;
        const history: (SeenOutcome & { atMs: number })[] = [];
        for (const { lead, failed, unreached, gapMs } of outcomes) {
          nowMs += gapMs;
          const one = seen(lead, failed, unreached && failed);
          history.push({ ...one, atMs: nowMs });
          expect(window.add(one, nowMs)).toBe(expected(history, nowMs));
        }
      }),
    );
  });
});

/** The same said the long way: look at all of history each time. */
function expected(history: readonly (SeenOutcome & { atMs: number })[], nowMs: number): boolean {
  const last = new Map<string, boolean>();
  for (const { operationKey, failed, atMs } of [...history].reverse()) {
    const tooOld = nowMs - atMs >= 300_000;
    if (!tooOld && last.size < policy.window && !last.has(operationKey)) last.set(operationKey, failed);
  }
  const failed = [...last.values()].filter(Boolean).length;
  const sinceAnswer = history.slice(history.findLastIndex((one) => !one.failed) + 1);
  const unreached = sinceAnswer.filter((one) => one.unreached).length >= 2;
  return unreached || (last.size >= 5 && failed === last.size) || (last.size >= 20 && failed >= 18);
}
