import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { metrics } from '#runtime';
import {
  insertDelivery,
  openSweepRig,
  outboxRows,
  type RowOptions,
  rowOf,
  type SweepRig,
  sweeperOf,
  sweptTarget,
  topicsOf,
} from '../../../test/support/sweep-rig.js';
import { unresolvedRoute } from './unresolved-route.js';

describe('rows of a destination that is not configured any more', () => {
  let rig: SweepRig;

  beforeAll(async () => {
    rig = await openSweepRig('sweeper_orphans');
  });
  afterAll(() => rig.close());
  afterEach(() => rig.clear());

  const lines: unknown[] = [];
  const logger = { error: (fields: unknown) => lines.push(fields), warn: () => {}, info: () => {} } as never;
  const announced: string[] = [];
  const orphaned = (after: { eventId: string; state: string }) => {
    announced.push(`${after.eventId} ${after.state}`);
    return [{ topic: 'resolved', key: null, value: null, headers: {} }];
  };
  const bare = () => sweeperOf(rig.db, sweptTarget(), { orphaned, logger });
  const gone = (options: RowOptions) => insertDelivery(rig.db, { ...options, destination: 'gone' });
  afterEach(() => {
    lines.length = 0;
    announced.length = 0;
  });

  it('leaves rows alone until their deadline, counts them, and names them in the log once a minute', async () => {
    await gone({ dueInMs: -11_000 });
    await gone({ state: 'held' });
    const id = await gone({ state: 'in_flight', leaseInMs: -1 });
    const sweeper = bare();
    await sweeper.sweep();
    await sweeper.sweep();
    expect(await outboxRows(rig.db)).toHaveLength(0);
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'in_flight' });
    expect(lines).toEqual([{ destinations: ['gone'], count: 3 }]);
    expect((await metrics.orphaned.get()).values).toMatchObject([{ value: 3, labels: { destination: 'gone' } }]);
  });

  it('ends them at their deadline, announced and without a dead letter that nobody would read', async () => {
    const ids = [await gone({ dueInMs: 60_000, deadlineInMs: -1 }), await gone({ state: 'held', deadlineInMs: -1 })];
    await bare().sweep();
    for (const id of ids) {
      const row = await rowOf(rig.db, id);
      expect(row).toMatchObject({
        state: 'expired',
        class: 'deadline_exceeded',
        code: 'unknown_destination',
        operations: [{ state: 'expired' }],
      });
    }
    expect(announced.sort()).toEqual(ids.map((id) => `${id} expired`).sort());
    expect(await topicsOf(rig.db)).toEqual(['resolved', 'resolved']);
  });

  it('raises at their deadline those whose call may have been made, once', async () => {
    const sent: RowOptions['operations'] = [{ kind: 'lead', state: 'waiting', sendingAgoMs: 60_000 }];
    const ids = [
      await gone({ state: 'in_flight', leaseInMs: -1, deadlineInMs: -1 }),
      await gone({ state: 'uncertain', deadlineInMs: -1 }),
      await gone({ state: 'waiting', dueInMs: 60_000, deadlineInMs: -1, operations: sent }),
    ];
    const working = await gone({ state: 'in_flight', leaseInMs: 30_000, deadlineInMs: -1 });
    await bare().sweep();
    const { items } = await unresolvedRoute(rig.db)({ limit: 10 });
    expect(items.map(({ event_id }) => event_id).sort()).toEqual(ids.sort());
    for (const item of items) expect(item).toMatchObject({ state: 'uncertain', class: 'unverified_write', code: 'unknown_destination' });
    expect(await rowOf(rig.db, working)).toMatchObject({ state: 'in_flight' });
    await bare().sweep();
    expect((await unresolvedRoute(rig.db)({ limit: 10 })).items).toEqual(items);
    expect(announced).toEqual([]);
  });
});
