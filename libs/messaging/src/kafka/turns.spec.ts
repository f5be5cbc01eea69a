import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { TurnPerKey } from './turns.js';

describe('TurnPerKey', () => {
  it('never runs two works that share a key at once, keeps their order, and ends them all', async () => {
    const job = fc.record({
      keys: fc.uniqueArray(fc.integer({ min: 0, max: 4 }), { minLength: 1 }),
      ticks: fc.nat({ max: 3 }),
      fails: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(job, { maxLength: 40 }), async (jobs) => {
        const turns = new TurnPerKey();
        const busy = new Set<number>();
        const order = new Map<number, number[]>();
        const results = await Promise.allSettled(
          jobs.map(({ keys, ticks, fails }, id) =>
            turns.take(keys.map(String), async () => {
              for (const key of keys) {
                expect(busy.has(key)).toBe(false);
                busy.add(key);
                order.set(key, [...(order.get(key) ?? []), id]);
              }
              for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
              for (const key of keys) busy.delete(key);
              if (fails) throw new Error('failed');
            }),
          ),
        );
        expect(results.map(({ status }) => status === 'rejected')).toEqual(jobs.map(({ fails }) => fails));
        for (const ids of order.values()) expect(ids).toEqual([...ids].sort((a, b) => a - b));
        await turns.idle();
      }),
    );
  });
});
