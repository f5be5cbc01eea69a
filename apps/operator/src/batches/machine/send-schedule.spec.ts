import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Before, canarySize, ceilingFactor, longestArrearsMs, SendSchedule } from './send-schedule.js';

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
  interface Look {
    atMs: number;
    /** Gone out at this look, and until after it. */
    now: number;
    out: number;
  }
  /** Sends what is due at each look; of less room than that, what there is room for. */
  const run = (ratePerS: number, looks: readonly (number | { stepMs: number; room: number })[], before?: Before): Look[] => {
    const schedule = new SendSchedule(ratePerS, 0, before);
    let atMs = 0;
    let out = 0;
    return looks.map((look) => {
      const { stepMs, room } = typeof look === 'number' ? { stepMs: look, room: Number.POSITIVE_INFINITY } : look;
      atMs += stepMs;
      const now = Math.min(room, schedule.due(atMs));
      schedule.sent(now, atMs);
      out += now;
      return { atMs, now, out };
    });
  };
  const busiestSecond = (looks: readonly Look[]): number =>
    Math.max(
      0,
      ...looks.map(({ atMs }) =>
        looks.filter((other) => other.atMs > atMs - 1_000 && other.atMs <= atMs).reduce((sum, { now }) => sum + now, 0),
      ),
    );
  const ticks = (count: number, stepMs = 25): number[] => Array.from({ length: count }, () => stepMs);

  it('keeps its rate to the item, however unevenly it is looked at', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), fc.array(fc.integer({ min: 1, max: 450 }), { maxLength: 200 }), (rate, looks) => {
        for (const { atMs, out } of run(rate, looks)) expect(out).toBe(Math.floor((atMs * rate) / 1_000));
      }),
    );
  });

  it('is at 10,000 items after 50 s of 200 a second', () => {
    expect(run(200, ticks(1_000, 50)).at(-1)).toMatchObject({ atMs: 50_000, out: 10_000 });
  });

  it('has no second with more than twice its rate, and is never ahead of it, whatever it owes and however late it is looked at', () => {
    const look = fc.oneof(
      fc.integer({ min: 1, max: 5_000 }),
      fc.record({ stepMs: fc.integer({ min: 1, max: 400 }), room: fc.integer({ min: 0, max: 50 }) }),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        fc.integer({ min: 0, max: 100_000 }),
        fc.array(look, { maxLength: 100 }),
        (rate, owedMs, looks) => {
          const all = run(rate, looks, { owedMs });
          expect(busiestSecond(all)).toBeLessThanOrEqual(ceilingFactor * rate);
          const owed = Math.min(owedMs, longestArrearsMs);
          for (const { atMs, out } of all) expect(out).toBeLessThanOrEqual(Math.floor(((atMs + owed) * rate) / 1_000 + 1e-6));
        },
      ),
    );
  });

  it('makes up for a standstill at twice the rate, and then keeps its rate again', () => {
    const looks = run(100, [...ticks(40), 6_000, ...ticks(400)]);
    const outAt = (ms: number): number => looks.find(({ atMs }) => atMs === ms)?.out ?? Number.NaN;
    // 700 are due at 7 s and 200 go out; the 400 that are left take four seconds.
    expect([1_000, 7_000, 8_000, 10_000, 11_000, 12_000, 17_000].map(outAt)).toEqual([100, 300, 500, 900, 1_100, 1_200, 1_700]);
  });

  it('takes over what another owes, and with what that one sent last makes no second fuller', () => {
    const looks = run(100, ticks(400), { owedMs: 4_000, lately: 150 });
    expect(looks.filter(({ atMs }) => atMs < 1_000).reduce((sum, { now }) => sum + now, 0)).toBe(50);
    expect(looks.at(-1)?.out).toBe(1_000 + 400);
    expect(Math.max(...run(100, ticks(400), { owedMs: 4_000 }).map(({ now }) => now))).toBe(5);
  });

  it('makes up for half a minute at most', () => {
    expect(run(100, [60_000, ...ticks(4_000)]).at(-1)?.out).toBe(3_000 + 100 * 100);
  });

  it('owes nothing for the time in which it is held', () => {
    const schedule = new SendSchedule(100, 0, { owedMs: 2_000 });
    schedule.hold(60_000);
    expect(schedule.due(60_000)).toBe(0);
    expect(schedule.owedMs(60_100)).toBe(100);
    expect(schedule.due(60_100)).toBe(10);
  });

  it('never owes what did not go out twice: less sent is due later', () => {
    const schedule = new SendSchedule(10, 0);
    expect(schedule.due(1_000)).toBe(10);
    schedule.sent(4, 1_000);
    expect(schedule.due(1_400)).toBe(8);
    schedule.sent(8, 1_400);
    expect(schedule.owedMs(1_450)).toBe(250);
    expect(schedule.due(1_450)).toBe(1);
    expect(schedule.due(1_500)).toBe(2);
  });
});
