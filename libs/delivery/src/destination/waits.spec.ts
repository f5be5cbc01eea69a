import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { coolDownMs, throttleMs } from './cool-down.js';
import { rampedConcurrency, rampMs, untilNextStepMs } from './ramp.js';

const policy = { coolDownMs: 15_000, longestCoolDownMs: 60_000 };
const random = fc.double({ min: 0, max: 0.999999, noNaN: true });

describe('a cool-down', () => {
  it.each([
    [1, 15_000],
    [2, 30_000],
    [3, 60_000],
    [4, 60_000],
    [1_000, 60_000],
  ])('number %i lasts %i ms, up to a fifth longer', (nth, declaredMs) => {
    expect(coolDownMs(policy, nth, 0)).toBe(declaredMs);
    expect(coolDownMs(policy, nth, 0.5)).toBeCloseTo(declaredMs * 1.1);
  });
});

describe('a pause after a destination throttled', () => {
  const backoff = { baseMs: 15_000, capMs: 300_000 };

  it('is what was asked for and up to a second more, an hour at most', () => {
    fc.assert(
      fc.property(fc.nat(7_200_000), fc.nat(20), random, (afterMs, nth, chance) => {
        const waitMs = throttleMs(afterMs, { backoff, nth, random: chance });
        expect(waitMs).toBeGreaterThanOrEqual(Math.min(afterMs, 3_600_000));
        expect(waitMs).toBeLessThan(Math.min(afterMs, 3_600_000) + 1_000);
      }),
    );
  });

  it('grows by itself where nothing was asked for, and is never next to nothing', () => {
    expect(throttleMs(undefined, { backoff, nth: 1, random: 0 })).toBe(7_500);
    expect(throttleMs(undefined, { backoff, nth: 3, random: 0 })).toBe(30_000);
    expect(throttleMs(undefined, { backoff, nth: 50, random: 0 })).toBe(150_000);
  });
});

describe('the ramp', () => {
  it('goes from a tenth to all, doubling each second', () => {
    const atSeconds = [0, 0.9, 1, 2, 3, 3.9, 4, 60].map((second) => rampedConcurrency(50, second * 1_000));
    expect(atSeconds).toEqual([5, 5, 10, 20, 40, 40, 50, 50]);
    expect(rampMs).toBe(4_000);
  });

  it('lets at least one call through, never more than all, and never takes back', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: -5_000, max: 10_000 }),
        fc.nat(5_000),
        (concurrency, sinceMs, moreMs) => {
          const now = rampedConcurrency(concurrency, sinceMs);
          expect(now).toBeGreaterThanOrEqual(1);
          expect(now).toBeLessThanOrEqual(concurrency);
          expect(rampedConcurrency(concurrency, sinceMs + moreMs)).toBeGreaterThanOrEqual(now);
        },
      ),
    );
  });

  it('says when the next step is', () => {
    expect([-200, 0, 999, 1_000, 3_500, 4_000].map(untilNextStepMs)).toEqual([1_200, 1_000, 1, 1_000, 500, 0]);
  });
});
