import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createLogger, DatabaseUnavailable, StatementFailed } from '#runtime';
import { DatabaseAway } from './database-away.js';
import { sqlBatch } from './sql-batch.js';

const away = (events: string[] = []) =>
  new DatabaseAway({
    onAway: () => events.push('away'),
    onBack: () => events.push('back'),
    logger: createLogger('test', 'silent'),
    retryMs: 1,
  });

describe('coalesced statements', () => {
  it('fail the refused items alone, whichever they are, and keep every other result in its place', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 60 }), async (bad) => {
        const batch = sqlBatch<number, number>({
          away: away(),
          run: (items) =>
            items.some((item) => bad[item])
              ? Promise.reject(new StatementFailed({ code: '22021' }))
              : Promise.resolve(items.map((i) => i * 2)),
          refused: () => -1,
        });
        const results = await Promise.all(bad.map((_, index) => batch(index)));
        expect(results).toEqual(bad.map((isBad, index) => (isBad ? -1 : index * 2)));
      }),
      { numRuns: 30 },
    );
  });

  it('are run again after a deadlock, without waiting for the database to be back', async () => {
    let failures = 2;
    const events: string[] = [];
    const batch = sqlBatch<number, number>({
      away: away(events),
      run: (items) => (failures-- > 0 ? Promise.reject(new StatementFailed({ code: '40P01' })) : Promise.resolve(items)),
      refused: () => -1,
    });
    expect(await batch(7)).toBe(7);
    expect(events).toEqual([]);
  });

  it('wait for a database that is away, and say so once', async () => {
    let failures = 3;
    const events: string[] = [];
    const batch = sqlBatch<number, number>({
      away: away(events),
      run: (items) => (failures-- > 0 ? Promise.reject(new DatabaseUnavailable('57P01')) : Promise.resolve(items)),
      refused: () => -1,
    });
    expect(await batch(7)).toBe(7);
    expect(events).toEqual(['away', 'back']);
  });

  it('are given up when the engine stops', async () => {
    const gone = away();
    const batch = sqlBatch<number, number>({
      away: gone,
      run: () => Promise.reject(new DatabaseUnavailable('57P01')),
      refused: () => -1,
    });
    const result = expect(batch(7)).rejects.toThrow('the delivery engine stops');
    gone.stop();
    await result;
  });
});
