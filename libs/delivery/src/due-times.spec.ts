import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { DueTimes } from './due-times.js';

describe('due times', () => {
  it('come in order and never early', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 200 }), async (delays) => {
        const seen: { due: number; at: number }[] = [];
        await new Promise<void>((resolve) => {
          const times = new DueTimes<number>((due) => {
            seen.push({ due, at: performance.now() });
            if (seen.length === delays.length) resolve();
          });
          for (const delay of delays) times.add(performance.now() + delay, delay);
        });
        for (const { due, at } of seen) expect(at).toBeGreaterThanOrEqual(due);
      }),
      { numRuns: 10 },
    );
  });

  it('sleep until a time that is further away than a timer can count', async () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const times = new DueTimes<number>(() => undefined);
    times.add(1, 1e12);
    expect(timers.mock.lastCall?.[1]).toBeLessThan(2 ** 31);
    times.clear();
    timers.mockRestore();
  });

  it('forgets all when cleared', async () => {
    const seen: number[] = [];
    const times = new DueTimes<number>((item) => seen.push(item));
    times.add(1, 0);
    times.clear();
    await new Promise<void>((resolve) => new DueTimes<number>(() => resolve()).add(2, 20));
    expect(seen).toEqual([]);
    expect(times.size).toBe(0);
  });
});
