import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { bucketOf, draw } from './quota-bucket.js';

describe('a quota', () => {
  it('is kept in every span, whoever draws when, and however late a token is used', () => {
    const quotas = fc.record({ requests: fc.integer({ min: 1, max: 200 }), perMs: fc.constantFrom(1_000, 10_000, 60_000) });
    const draws = fc.array(
      fc.record({
        gap: fc.double({ min: 0, max: 0.3, noNaN: true }),
        want: fc.integer({ min: 1, max: 60 }),
        late: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
      {
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(quotas, draws, (quota, steps) => {
        const bucket = bucketOf(quota);
        const usedAtMs: number[] = [];
        let held: { level: number; atMs: number } | undefined;
        let nowMs = 0;
        for (const { gap, want, late } of steps) {
          nowMs += gap * quota.perMs;
          const drawn = draw(bucket, held && { level: held.level, sinceMs: nowMs - held.atMs }, { want, owed: 0 });
          held = { level: drawn.level, atMs: nowMs };
          for (let n = 0; n < drawn.granted; n++) usedAtMs.push(nowMs + late * bucket.keepMs);
        }
        for (const fromMs of usedAtMs) {
          const inSpan = usedAtMs.filter((atMs) => atMs >= fromMs && atMs < fromMs + quota.perMs - 1e-6).length;
          expect(inSpan).toBeLessThanOrEqual(quota.requests);
        }
      }),
    );
  });

  it('gives nearly all of itself to who takes what there is', () => {
    for (const requests of [1, 5, 60, 600]) {
      const bucket = bucketOf({ requests, perMs: 60_000 });
      let held: { level: number; sinceMs: number } | undefined;
      let granted = 0;
      for (let atMs = 0; atMs < 600_000; atMs += 100) {
        const drawn = draw(bucket, held, { want: 50, owed: 0 });
        granted += drawn.granted;
        held = { level: drawn.level, sinceMs: 100 };
      }
      expect(granted).toBeGreaterThanOrEqual(requests * 10 * 0.88);
      expect(granted).toBeLessThanOrEqual(requests * 10);
    }
  });

  it('says when the next token comes, and not too early', () => {
    const bucket = bucketOf({ requests: 10, perMs: 1_000 });
    const first = draw(bucket, undefined, { want: 5, owed: 0 });
    expect(first).toMatchObject({ granted: 1, waitMs: 0 });
    const empty = draw(bucket, { level: first.level, sinceMs: 10 }, { want: 5, owed: 0 });
    expect(empty.granted).toBe(0);
    expect(draw(bucket, { level: empty.level, sinceMs: empty.waitMs - 1 }, { want: 5, owed: 0 }).granted).toBe(0);
    expect(draw(bucket, { level: empty.level, sinceMs: empty.waitMs + 0.001 }, { want: 5, owed: 0 }).granted).toBe(1);
  });

  it('takes what is owed first, below nothing if it must', () => {
    const bucket = bucketOf({ requests: 100, perMs: 1_000 });
    expect(draw(bucket, undefined, { want: 50, owed: 4 })).toMatchObject({ granted: 6, level: 0 });
    const owing = draw(bucket, { level: 0, sinceMs: 0 }, { want: 5, owed: 3 });
    expect(owing).toMatchObject({ granted: 0, level: -3 });
    expect(owing.waitMs).toBeCloseTo(4 / bucket.perMs);
  });
});
