import { describe, expect, it } from '@jest/globals';
import { leftMs, showForMs } from './reveal-time.js';

const received = { steady: 1_000, wall: 50_000 };

describe('what was revealed', () => {
  it('is shown as long as the service says, by its own clock, and never above five minutes', () => {
    expect(showForMs('2020-01-01T12:05:00.000Z', 'Wed, 01 Jan 2020 12:01:00 GMT')).toBe(240_000);
    expect(showForMs('2020-01-01T14:00:00.000Z', 'Wed, 01 Jan 2020 12:00:00 GMT')).toBe(300_000);
    expect(showForMs('soon', null)).toBe(0);
  });
  it('is not shown longer because the clock was set back', () => {
    expect(leftMs(300_000, received, { steady: 301_000, wall: -9_000_000 })).toBe(0);
  });
  it('is gone after the machine has slept', () => {
    expect(leftMs(300_000, received, { steady: 2_000, wall: 400_000 })).toBeLessThan(0);
  });
});
