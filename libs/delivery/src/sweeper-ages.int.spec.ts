import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { metrics } from '#runtime';
import { scansOf } from '../../../test/support/plans.js';
import {
  insertDelivery,
  openSweepRig,
  type RowOptions,
  type SweepRig,
  standing,
  sweeperOf,
  sweptTarget,
} from '../../../test/support/sweep-rig.js';
import { becomeSweeper, countUnfinishedSql } from './sql/sweep.js';

describe('the ages that the sweeper tells', () => {
  let rig: SweepRig;
  let held: string[] = [];

  beforeAll(async () => {
    rig = await openSweepRig('sweeper_ages');
  });
  afterAll(() => rig.close());
  afterEach(async () => {
    held = [];
    await rig.clear();
  });

  const sweep = () => sweeperOf(rig.db, sweptTarget(), { standing: standing({ held }) }).sweep();
  const insert = (options: RowOptions) => insertDelivery(rig.db, options);
  const submitted = (id: string, hours: number, more = '') =>
    rig.db.sql(
      `rig.submitted${more}`,
      `UPDATE delivery SET submitted_at = clock_now() - $2 * interval '1 hour'${more} WHERE event_id = $1`,
      [id, hours],
    );
  const oldestHours = async () =>
    (await metrics.deliveryOldestAge.get()).values
      .map(({ labels, value }) => [labels.state, Math.round((value / 3_600) * 100) / 100])
      .sort();

  it('are those of the oldest of each state since its submission, where somebody waits for it', async () => {
    held = ['rig'];
    for (const hours of [2, 3]) await submitted(await insert({ state: 'held' }), hours);
    await submitted(await insert({ state: 'uncertain' }), 4);
    for (const state of ['in_flight', 'dead', 'expired']) await submitted(await insert({ state, leaseInMs: 30_000 }), 9);
    await submitted(await insert({ state: 'held' }), 8, ', test = true');
    await submitted(await insert({ state: 'held' }), 8, ', replay_item = gen_random_uuid()');
    await sweep();
    expect(await oldestHours()).toEqual([
      ['held', 3],
      ['uncertain', 4],
    ]);
    await rig.clear();
    held = [];
    await submitted(await insert({ dueInMs: 60_000 }), 1);
    await submitted(await insert({ dueInMs: 60_000 }), 5);
    await submitted(await insert({ dueInMs: 60_000, state: 'pending' }), -1);
    await sweep();
    expect(await oldestHours()).toEqual([
      ['pending', 0],
      ['waiting', 5],
    ]);
  });

  it('are forgotten when another process sweeps', async () => {
    await insert({ dueInMs: 60_000 });
    await sweep();
    expect(await oldestHours()).toHaveLength(1);
    await rig.db.transaction(async (tx) => {
      expect(await becomeSweeper(tx)).toBe(true);
      await sweep();
    });
    expect(await oldestHours()).toEqual([]);
  });

  it('cost no look at an ended delivery, and of held ones at the oldest alone', async () => {
    const insertMany = (from: number, to: number, columns: string) =>
      rig.asOwner(`INSERT INTO delivery (event_id, destination, state, next_attempt_at, submitted_at, deadline_at, claimed_at, updated_at,
            test, lead_ref, operation_keys, event)
          SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, ${columns}, now() - n * interval '1 ms', now() + interval '4 h',
            now(), now(), false, 'L-' || n, '{}', '' FROM generate_series(${from}, ${to}) n`);
    await insertMany(1, 20_000, "'rig', 'delivered', NULL::timestamptz");
    await insertMany(20_001, 30_000, "'rig', 'dead', NULL");
    await insertMany(30_001, 32_000, "'rig', 'held', NULL");
    await insertMany(32_001, 34_000, "'other', 'waiting', now() + interval '1 h'");
    await rig.asOwner('VACUUM ANALYZE delivery');
    const read = await scansOf(rig.db, countUnfinishedSql);
    expect(read.filter(({ type }) => !type.startsWith('Index'))).toEqual([]);
    // What waits is read, as it was for its number; of what is held one row, by the index of the backlog.
    // Nothing is uncertain: either index of that says so.
    const named = (index = '') => index.replace('delivery_uncertain_at', 'delivery_uncertain');
    expect(read.map(({ index, type, rows }) => [named(index), type, rows]).sort()).toEqual([
      ['delivery_backlog', 'Index Scan', 1],
      ['delivery_open', 'Index Scan', 2_000],
      ['delivery_uncertain', 'Index Scan', 0],
      ['delivery_unresolved', 'Index Only Scan', 12_000],
      ['delivery_unresolved_test', 'Index Only Scan', 0],
    ]);
  });
});
