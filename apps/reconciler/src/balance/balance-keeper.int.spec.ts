import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AcceptedItem, BalanceSources, ReceivedDay } from '#delivery';
import { createLogger, type Database, metrics, migrateService, newEventId } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { openReconcilerDatabase } from '../../../../test/support/reconcile/open-tools.js';
import { migrations } from '../migrations/index.js';
import { BalanceKeeper } from './balance-keeper.js';
import { dayOf } from './day-of.js';
import { listBalances } from './store-balance.js';

const nowMs = Date.parse('2026-05-03T10:00:00Z');
const dayMs = 86_400_000;

describe('the balance by day', () => {
  let database: TestDatabase;
  let db: Database;
  let keeper: BalanceKeeper;
  /** State at the owner by event; absent: found nowhere. */
  const states = new Map<string, 'delivered' | 'waiting'>();
  const accepted: AcceptedItem[] = [];
  let days: ReceivedDay[] = [];

  const sources: BalanceSources = {
    accepted: () => Promise.resolve({ items: accepted, to: new Date(nowMs).toISOString() }),
    places: (ids) => Promise.resolve(ids.map(() => 'claimed')),
    states: (ids) =>
      Promise.resolve({
        items: ids.map((event_id) => {
          const state = states.get(event_id);
          return { event_id, deliveries: state === undefined ? [] : [{ destination: 'crm', state, complete: true } as never] };
        }),
      }),
    held: () => Promise.resolve(new Set()),
    received: ({ from }) => Promise.resolve(days.filter(({ day }) => day === from)),
  };
  const accept = (daysAgo: number, state?: 'delivered' | 'waiting'): string => {
    const event_id = newEventId(nowMs - daysAgo * dayMs);
    accepted.push({ event_id, destination: 'crm', state: 'accepted', own: false, organization: 'demo', source: 'website' });
    if (state !== undefined) states.set(event_id, state);
    return event_id;
  };
  const listed = async () => (await listBalances(db, { from: '2026-04-01', to: '2026-05-31' })).items;

  beforeAll(async () => {
    database = await testDatabase('balances');
    await migrateService({ url: database.url, service: 'reconciler', migrations });
    db = await openReconcilerDatabase(database.url);
    keeper = new BalanceKeeper({ db, sources, logger: createLogger('balance', 'silent'), pauseMs: 1 });
  });
  afterAll(async () => {
    await db?.close();
    await database?.drop();
  });

  it('closes a day once it is over and all of it has ended, and leaves out the day that its window cuts', async () => {
    accept(8, 'delivered');
    accept(1, 'delivered');
    accept(0, 'delivered');
    const waiting = accept(2, 'waiting');
    expect(await keeper.readiness.check()).toMatchObject({ ok: false, detail: expect.stringContaining('no balance was taken') });
    await keeper.take();
    expect((await listed()).map(({ day, closed, balanced, accepted: count }) => [day, closed, balanced, count])).toEqual([
      ['2026-05-01', false, true, 1],
      ['2026-05-02', true, true, 1],
      ['2026-05-03', false, true, 1],
    ]);
    expect(await keeper.readiness.check()).toEqual({ ok: true });
    states.set(waiting, 'delivered');
    await keeper.take();
    expect((await listed())[0]).toMatchObject({ closed: true, found: { delivered: 1 } });
  });

  it('opens a closed day again whose leads are gone, and closes it when they are back', async () => {
    const day = async () => (await listed())[1];
    expect(await day()).toMatchObject({ day: '2026-05-02', closed: true, balanced: true });
    const [gone = ''] = [...states].filter(([id]) => dayOf(id) === '2026-05-02').map(([id]) => id);
    states.delete(gone);
    await keeper.take();
    expect(await day()).toMatchObject({ closed: false, balanced: false, missing: 1 });
    states.set(gone, 'delivered');
    await keeper.take();
    expect(await day()).toMatchObject({ closed: true, balanced: true, missing: 0 });
  });

  it('turns metric and note red while something is found nowhere', async () => {
    const lost = accept(0);
    await keeper.take();
    expect((await metrics.balanced.get()).values).toMatchObject([{ value: 0 }]);
    expect((await metrics.balanceDifference.get()).values).toMatchObject([{ labels: { source: 'website', destination: 'crm' }, value: 1 }]);
    expect(await keeper.readiness.check()).toMatchObject({ ok: false, detail: expect.stringContaining('1 deliveries') });
    expect(keeper.readiness.isNote).toBe(true);
    expect((await listed()).at(-1)).toMatchObject({ balanced: false, missing: 1, accepted: 2 });
    states.set(lost, 'delivered');
    await keeper.take();
    expect((await metrics.balanced.get()).values).toMatchObject([{ value: 1 }]);
    expect(await keeper.readiness.check()).toEqual({ ok: true });
  });

  it('keeps what was received by day and source', async () => {
    const day = {
      organization: 'demo',
      source: 'website',
      day: '2026-05-03',
      received: 3,
      accepted: 1,
      repeats: 1,
      conflicts: 0,
      rejected: 0,
    };
    days = [day];
    expect((await keeper.take()).balanced).toBe(false);
    const { received } = await listBalances(db, { from: '2026-05-03', to: '2026-05-03' });
    expect(received).toEqual([day]);
    expect((await metrics.balanceReceivedDifference.get()).values).toMatchObject([{ labels: { source: 'website' }, value: 1 }]);
  });
});
