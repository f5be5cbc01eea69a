import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canarySize, SendSchedule } from './send-schedule.js';

describe('the canary', () => {
  it.each([
    [0, 0],
    [1, 1],
    [10, 10],
    [11, 10],
    [1_000, 10],
    [1_001, 11],
    [5_000, 50],
    [100_000, 50],
  ])('of %i items has %i', (items, size) => {
    expect(canarySize(items)).toBe(size);
  });
});

describe('the schedule', () => {
  /** Sends what is due at each look. @returns what was out after each */
  const run = (ratePerS: number, looks: readonly number[]): { atMs: number; out: number }[] => {
    const schedule = new SendSchedule(ratePerS, 0);
    let atMs = 0;
    let out = 0;
    return looks.map((stepMs) => {
      atMs += stepMs;
      const due = schedule.due(atMs);
      schedule.sent(due);
      out += due;
      return { atMs, out };
    });
  };

  it('keeps its rate to the item, however unevenly it is looked at', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), fc.array(fc.integer({ min: 1, max: 1_900 }), { maxLength: 200 }), (rate, looks) => {
        for (const { atMs, out } of run(rate, looks)) expect(out).toBe(Math.floor((atMs * rate) / 1_000));
      }),
    );
  });

  it('is at 10,000 items after 50 s of 200 a second', () => {
    expect(
      run(
        200,
        Array.from({ length: 1_000 }, () => 50),
      ).at(-1),
    ).toEqual({ atMs: 50_000, out: 10_000 });
  });

  it('catches up on two seconds at most after a standstill', () => {
    const [, after] = run(100, [1_000, 60_000]);
    expect(after?.out).toBe(100 + 200);
  });

  it('never owes what did not go out twice: less sent is due later', () => {
    const schedule = new SendSchedule(10, 0);
    expect(schedule.due(1_000)).toBe(10);
    schedule.sent(4);
    expect(schedule.due(1_000)).toBe(6);
    schedule.sent(6);
    expect(schedule.due(1_000)).toBe(0);
  });
});
