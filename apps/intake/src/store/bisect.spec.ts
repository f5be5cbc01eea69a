import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DatabaseUnavailable, StatementFailed } from '#runtime';
import { bisect } from './bisect.js';

/** A database that refuses any batch with one of the bad items in it. */
async function run(items: number[], bad: Set<number>) {
  const saved: number[] = [];
  const refused: number[] = [];
  await bisect(
    items,
    async (part) => {
      if (part.some((item) => bad.has(item))) throw new StatementFailed({ code: '22021' });
      saved.push(...part);
    },
    (item) => refused.push(item),
  );
  return { saved, refused };
}

describe('bisect', () => {
  it('refuses exactly the bad items and saves every other once, in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat(50)), fc.array(fc.nat(50)), async (items, badItems) => {
        const bad = new Set(badItems);
        const { saved, refused } = await run(items, bad);
        expect(saved).toEqual(items.filter((item) => !bad.has(item)));
        expect(refused).toEqual(items.filter((item) => bad.has(item)));
      }),
    );
  });

  it('runs a batch that lost a deadlock again', async () => {
    let tries = 0;
    await bisect(
      [1, 2],
      async () => {
        tries += 1;
        if (tries < 3) throw new StatementFailed({ code: '40P01' });
      },
      () => expect(true).toBe(false),
    );
    expect(tries).toBe(3);
  });

  it.each([new DatabaseUnavailable('57014'), new StatementFailed({ code: '42P01' }), new Error('a fault of ours')])(
    'throws on what no single row is to blame for: %s',
    async (error) => {
      let tries = 0;
      const failing = bisect(
        [1, 2, 3],
        async () => {
          tries += 1;
          throw error;
        },
        () => {},
      );
      await expect(failing).rejects.toBe(error);
      expect(tries).toBe(1);
    },
  );
});
