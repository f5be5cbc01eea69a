import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { insertDelivery, openSweepRig, type RowOptions, type SweepRig } from '../../../../test/support/sweep-rig.js';
import { holdDestination } from '../destination/index.js';
import { figuresRoute } from './figures-route.js';
import { uncertainGroupsRoute, uncertainRoute } from './uncertain-route.js';
import { type WaitingRequest, waitingGroupsRoute, waitingRequest, waitingRoute } from './waiting-route.js';

const hour = 3_600_000;

describe('what a service tells operator for its queues', () => {
  let rig: SweepRig;
  beforeAll(async () => {
    rig = await openSweepRig('queues');
  });
  afterAll(() => rig.close());
  afterEach(async () => {
    await rig.clear();
    await rig.db.sql('spec.clear_states', 'DELETE FROM destination_state', []);
  });

  const insert = (options?: RowOptions) => insertDelivery(rig.db, options);
  const page = (request: Partial<WaitingRequest> = {}) => waitingRoute(rig.db)(waitingRequest.parse(request));
  const submitted = (eventId: string, secondsAgo: number) =>
    rig.db.sql('spec.submitted', "UPDATE delivery SET submitted_at = clock_now() - $2::float8 * interval '1 second' WHERE event_id = $1", [
      eventId,
      secondsAgo,
    ]);
  it('shows what is held, and what waits for a destination that is held, the longest submitted first, each once', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 7; n += 1) {
      const id = await insert({ state: n % 2 === 0 ? 'held' : 'waiting', dueInMs: hour });
      await submitted(id, 100 + n * 10);
      ids.unshift(id);
    }
    await insert({ destination: 'other', state: 'waiting', dueInMs: hour });
    expect((await page()).items.map(({ event_id }) => event_id)).toEqual(ids.filter((_, n) => n % 2 === 0));
    await holdDestination(rig.db, { destination: 'rig', by: 'ada', reason: 'maintenance' });
    const seen: string[] = [];
    let after: WaitingRequest['after'];
    for (;;) {
      const { items } = await page({ limit: 3, after });
      seen.push(...items.map(({ event_id }) => event_id));
      const last = items.at(-1);
      if (last === undefined) break;
      after = { submitted_us: last.submitted_us, event_id: last.event_id, destination: last.destination };
      const late = await insert({ state: 'held', dueInMs: hour });
      await submitted(late, 10_000);
    }
    expect(seen).toEqual(ids);
    const [first] = (await page({ destination: 'rig' })).items;
    expect(first).toMatchObject({ reason: 'hold', hold: { by: 'ada', reason: 'maintenance' }, event: expect.any(String) });
  });

  it('tells of every write that nobody knows of from its first moment, both ways round, and of one that somebody was told of only lately', async () => {
    const ids: string[] = [];
    for (const secondsAgo of [300, 200, 100]) {
      const id = await insert({ state: 'uncertain', dueInMs: hour });
      await submitted(id, secondsAgo);
      ids.push(id);
    }
    await insert({ state: 'waiting', dueInMs: hour });
    const [first = '', told = '', last = ''] = ids;
    const raised = (id: string, minutesAgo: number) =>
      rig.db.sql('spec.raised', "UPDATE delivery SET raised_at = clock_now() - $2::float8 * interval '1 minute' WHERE event_id = $1", [
        id,
        minutesAgo,
      ]);
    const uncertain = async (request: Partial<WaitingRequest> = {}) =>
      (await uncertainRoute(rig.db)(waitingRequest.parse(request))).items.map(({ event_id }) => event_id);
    expect(await uncertain()).toEqual(ids);
    await raised(told, 1);
    expect(await uncertain()).toEqual(ids);
    const newest = await uncertainRoute(rig.db)(waitingRequest.parse({ newest: true, limit: 1 }));
    expect(newest.items).toMatchObject([{ event_id: last, state: 'uncertain', destination: 'rig' }]);
    const [{ submitted_us = '', event_id = '', destination = '' } = {}] = newest.items;
    expect(await uncertain({ newest: true, after: { submitted_us, event_id, destination } })).toEqual([told, first]);
    expect((await uncertainGroupsRoute(rig.db)()).items).toMatchObject([{ destination: 'rig', count: 2 }]);
    await raised(told, 61);
    expect(await uncertain()).toEqual([first, last]);
  });

  it('counts a notification by its channel', async () => {
    const id = await insert({ destination: 'lead/sales/0f0f/lead_delivered', state: 'waiting', dueInMs: hour });
    await holdDestination(rig.db, { destination: 'sales', by: 'ada', reason: 'night' });
    expect((await waitingGroupsRoute(rig.db)()).items).toMatchObject([
      { destination: 'sales', count: 1, overdue: 0, sample_event_ids: [id], reason: 'hold' },
    ]);
    expect((await figuresRoute(rig.db)({ times: false })).open).toMatchObject([{ destination: 'sales', state: 'held', count: 1 }]);
  });

  it('counts what is open by state with the age of the oldest, and measures what was delivered in each hour', async () => {
    await submitted(await insert({ state: 'waiting', dueInMs: hour }), 50);
    await submitted(await insert({ state: 'uncertain', dueInMs: hour }), 70);
    for (const seconds of [1, 2, 3]) {
      const id = await insert({ state: 'delivered' });
      await rig.db.sql(
        'spec.took',
        "UPDATE delivery SET updated_at = submitted_at + $2::float8 * interval '1 second' WHERE event_id = $1",
        [id, seconds],
      );
    }
    const { open, times } = await figuresRoute(rig.db)({ times: true });
    expect(open.toSorted((one, other) => one.age_ms - other.age_ms)).toEqual([
      { destination: 'rig', state: 'waiting', count: 1, age_ms: expect.any(Number) },
      { destination: 'rig', state: 'uncertain', count: 1, age_ms: expect.any(Number) },
    ]);
    expect(times).toMatchObject([{ measured: 3, p50: 2_000, p99: expect.any(Number) }]);
  });
});
