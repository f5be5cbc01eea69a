import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CoalescerFull, coalesce } from './coalesce.js';

/** A `run` whose batches end only when told to. */
function heldBatches() {
  const batches: { items: number[]; finish(results?: (number | Error)[]): void; fail(error: Error): void }[] = [];
  const run = (items: number[]) =>
    new Promise<(number | Error)[]>((resolve, reject) => {
      batches.push({ items, finish: (results = items) => resolve(results), fail: reject });
    });
  return { batches, run };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('coalesce', () => {
  it('puts what arrives in one turn into one batch and gives each item its own result', async () => {
    const batches: number[][] = [];
    const double = coalesce<number, number>({
      maxBatch: 10,
      maxWaitMs: 0,
      maxInFlight: 1,
      run: async (items) => {
        batches.push(items);
        return items.map((item) => item * 2);
      },
    });
    expect(await Promise.all([1, 2, 3].map(double))).toEqual([2, 4, 6]);
    expect(batches).toEqual([[1, 2, 3]]);
  });

  it('rejects the one item whose result is an error', async () => {
    const refuseTwo = coalesce<number, number>({
      maxBatch: 10,
      maxWaitMs: 0,
      maxInFlight: 1,
      run: async (items) => items.map((item) => (item === 2 ? new Error('two') : item)),
    });
    const results = await Promise.allSettled([1, 2, 3].map(refuseTwo));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('rejects every item of a batch that fails, and goes on with the next', async () => {
    const { batches, run } = heldBatches();
    const add = coalesce<number, number>({ maxBatch: 2, maxWaitMs: 0, maxInFlight: 1, run });
    const [first, second, third] = [add(1), add(2), add(3)];
    batches[0]?.fail(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    await expect(second).rejects.toThrow('gone');
    await turn();
    batches[1]?.finish();
    expect(await third).toBe(3);
  });

  it('rejects a batch that gives too few results instead of leaving items waiting for ever', async () => {
    const short = coalesce<number, number>({ maxBatch: 10, maxWaitMs: 0, maxInFlight: 1, run: async () => [1] });
    const results = await Promise.allSettled([short(1), short(2)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  it('rejects the items when run throws before it gives a promise', async () => {
    const broken = coalesce<number, number>({
      maxBatch: 10,
      maxWaitMs: 0,
      maxInFlight: 1,
      run: () => {
        throw new Error('at once');
      },
    });
    await expect(broken(1)).rejects.toThrow('at once');
    await expect(broken(2)).rejects.toThrow('at once');
  });

  it('starts a full batch at once, without waiting for the turn to end', () => {
    const { batches, run } = heldBatches();
    const add = coalesce<number, number>({ maxBatch: 2, maxWaitMs: 60_000, maxInFlight: 2, run });
    void add(1);
    expect(batches).toHaveLength(0);
    void add(2);
    expect(batches.map(({ items }) => items)).toEqual([[1, 2]]);
    batches[0]?.finish();
  });

  it('lets items gather while all batches run, and keeps their order', async () => {
    const { batches, run } = heldBatches();
    const add = coalesce<number, number>({ maxBatch: 3, maxWaitMs: 0, maxInFlight: 1, run });
    const all = [1].map(add);
    await turn();
    all.push(...[2, 3, 4, 5].map(add));
    await turn();
    expect(batches.map(({ items }) => items)).toEqual([[1]]);
    expect([add.queued, add.inFlight]).toEqual([4, 1]);
    batches[0]?.finish();
    await turn();
    expect(batches[1]?.items).toEqual([2, 3, 4]);
    batches[1]?.finish();
    await turn();
    await turn();
    batches[2]?.finish();
    expect(await Promise.all(all)).toEqual([1, 2, 3, 4, 5]);
  });

  it('refuses what it may not hold, and takes items again afterwards', async () => {
    const { batches, run } = heldBatches();
    const add = coalesce<number, number>({ maxBatch: 1, maxWaitMs: 0, maxInFlight: 1, maxQueued: 1, run });
    const first = add(1);
    const second = add(2);
    await expect(add(3)).rejects.toBeInstanceOf(CoalescerFull);
    batches[0]?.finish();
    await first;
    await turn();
    batches[1]?.finish();
    expect(await second).toBe(2);
    const fourth = add(4);
    batches[2]?.finish();
    expect(await fourth).toBe(4);
  });

  it('is idle only when nothing waits and nothing runs', async () => {
    const { batches, run } = heldBatches();
    const add = coalesce<number, number>({ maxBatch: 1, maxWaitMs: 0, maxInFlight: 1, run });
    await add.idle();
    const work = Promise.all([add(1), add(2)]);
    let idle = false;
    const waiting = add.idle().then(() => {
      idle = true;
    });
    batches[0]?.finish();
    await turn();
    expect(idle).toBe(false);
    batches[1]?.finish();
    await work;
    await waiting;
    expect(idle).toBe(true);
  });

  it('gives every item its own result within its limits, whatever arrives when', async () => {
    const arrivals = fc.array(fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant('turn' as const)), { maxLength: 40 });
    const limits = fc.record({ maxBatch: fc.integer({ min: 1, max: 4 }), maxInFlight: fc.integer({ min: 1, max: 3 }) });
    await fc.assert(
      fc.asyncProperty(arrivals, limits, async (steps, { maxBatch, maxInFlight }) => {
        let running = 0;
        const seen: number[] = [];
        const add = coalesce<number, number>({
          maxBatch,
          maxWaitMs: 0,
          maxInFlight,
          run: async (items) => {
            running += 1;
            expect(running).toBeLessThanOrEqual(maxInFlight);
            expect(items.length).toBeGreaterThan(0);
            expect(items.length).toBeLessThanOrEqual(maxBatch);
            seen.push(...items);
            await turn();
            running -= 1;
            return items.map((item) => -item);
          },
        });
        const results: Promise<number>[] = [];
        for (const step of steps) {
          if (step === 'turn') await turn();
          else for (let count = 0; count < step; count += 1) results.push(add(results.length + 1));
        }
        expect(await Promise.all(results)).toEqual(results.map((_, index) => -(index + 1)));
        expect(seen).toEqual(results.map((_, index) => index + 1));
      }),
      { numRuns: 60 },
    );
  });
});
