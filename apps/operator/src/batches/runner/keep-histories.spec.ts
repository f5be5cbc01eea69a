import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#runtime';
import { keepDueHistories } from './keep-histories.js';

/** Three full pages are due, and then none; gives how many were taken. */
async function pagesTaken(histories: () => Promise<never[]>): Promise<number> {
  let taken = 0;
  const page = Array.from({ length: 100 }, (_, n) => ({
    item_id: `i-${n}`,
    event_id: `e-${n}`,
    destination: 'crm',
    service: 'crm-writer',
    dead_letter_id: `d-${n}`,
  }));
  const sql = async (name: string) => {
    if (name !== 'operator.take_histories') return [];
    taken += 1;
    return taken <= 3 ? page : [];
  };
  const owners = new Map([['crm-writer', { histories, destinations: () => Promise.reject(new Error('not asked')) }]]);
  await keepDueHistories({ db: { sql }, owners, logger: createLogger('rig', 'silent') } as unknown as Parameters<
    typeof keepDueHistories
  >[0]);
  return taken;
}

describe('histories that are due', () => {
  it('are taken page after page while they can be written', async () => {
    expect(await pagesTaken(() => Promise.resolve([]))).toBe(4);
  });

  it('are left for the next round once an owner does not answer: whatever else is done in a round has its turn', async () => {
    expect(await pagesTaken(() => Promise.reject(new Error('away')))).toBe(1);
  });
});
