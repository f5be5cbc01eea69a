import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { bucketOf, percentilesOf } from './buckets.js';

const counted = (durations: readonly number[]): Map<number, number> => {
  const counts = new Map<number, number>();
  for (const ms of durations) counts.set(bucketOf(ms), (counts.get(bucketOf(ms)) ?? 0) + 1);
  return counts;
};

describe('percentiles of calls counted by bucket', () => {
  it('are within 5 % of those of the calls themselves', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0.2, max: 120_000, noNaN: true }), { minLength: 1, maxLength: 300 }), (durations) => {
        const sorted = durations.toSorted((one, other) => one - other);
        const exact = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
        const { p50, p95, p99, count } = percentilesOf(counted(durations)) ?? { p50: 0, p95: 0, p99: 0, count: 0 };
        expect(count).toBe(durations.length);
        for (const [found, share] of [
          [p50, 0.5],
          [p95, 0.95],
          [p99, 0.99],
        ] as const) {
          expect(Math.abs(found / exact(share) - 1)).toBeLessThan(0.05);
        }
      }),
    );
  });

  it('are none where nothing was called', () => expect(percentilesOf(new Map())).toBeUndefined());

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e12])('take %s for some duration', (ms) => {
    expect(percentilesOf(counted([ms]))).toMatchObject({ count: 1, p50: expect.any(Number) });
    expect(Number.isInteger(bucketOf(ms))).toBe(true);
  });
});
