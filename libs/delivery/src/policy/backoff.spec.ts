import { describe, expect, it } from '@jest/globals';
import { fullJitterMs } from './backoff.js';

describe('full jitter', () => {
  const backoff = { baseMs: 15_000, capMs: 300_000 };

  it.each([
    [1, 15_000],
    [2, 30_000],
    [3, 60_000],
    [4, 120_000],
    [5, 240_000],
    [6, 300_000],
    [60, 300_000],
    [100_000, 300_000],
    [0, 15_000],
  ])('after attempt %i is anything from 0 up to %i ms', (attempt, ceiling) => {
    expect(fullJitterMs(backoff, attempt, 0)).toBe(0);
    expect(fullJitterMs(backoff, attempt, 0.999999999)).toBe(ceiling - 1);
    expect(fullJitterMs(backoff, attempt, 0.5)).toBe(ceiling / 2);
  });

  it('never exceeds its cap, also where the base does', () => {
    expect(fullJitterMs({ baseMs: 60_000, capMs: 10_000 }, 1, 0.999999999)).toBe(9_999);
  });
});
