import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { scansOf } from '../../../../test/support/plans.js';
import { openSweepRig, type SweepRig } from '../../../../test/support/sweep-rig.js';
import { leaseByRoom, leaseByRoomSql } from './verify.js';

describe('the lookups that a destination has room for', () => {
  let rig: SweepRig;

  beforeAll(async () => {
    rig = await openSweepRig('lease_by_room');
    const insert = (from: number, to: number, columns: string) =>
      rig.asOwner(`INSERT INTO delivery (event_id, destination, state, next_attempt_at, submitted_at, deadline_at, claimed_at, updated_at,
            test, lead_ref, operation_keys, event)
          SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, ${columns}, now() - n * interval '1 ms', now(), now(), now(), now(),
            false, 'L-' || n, '{}', '' FROM generate_series(${from}, ${to}) n`);
    await insert(1, 20_000, "'rig', 'delivered'");
    await insert(20_001, 26_000, "'broken', 'uncertain'");
    await insert(26_001, 29_000, "'rig', 'uncertain'");
    await rig.asOwner('VACUUM ANALYZE delivery');
  }, 60_000);
  afterAll(() => rig.close());

  it('are read in the order in which they are due, and no other row is', async () => {
    const scans = await scansOf(rig.db, leaseByRoomSql, [['rig', 'idle'], 30_000, [3, 3]]);
    expect(scans).toEqual(expect.arrayContaining([expect.objectContaining({ index: 'delivery_uncertain_at', rows: 3 })]));
    for (const { index, rows, removed } of scans) {
      expect(['delivery_uncertain_at', 'delivery_pkey']).toContain(index);
      expect(rows + removed).toBeLessThanOrEqual(3);
    }
  });

  it('are those that are due longest, as many as there is room for', async () => {
    await rig.asOwner(`UPDATE delivery SET attempt_id = NULL, lease_until = NULL WHERE state = 'uncertain'`);
    const leased = await leaseByRoom(rig.db, new Map([['rig', 2]]), 30_000);
    expect(leased.map(({ leadRef }) => leadRef).sort()).toEqual(['L-28999', 'L-29000']);
  });
});
