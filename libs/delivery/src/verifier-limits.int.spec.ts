import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#runtime';
import {
  insertDelivery,
  openSweepRig,
  outboxRows,
  outcomesOf,
  rowOf,
  type SweepRig,
  sweptTarget,
  topicsOf,
  verifierOf,
} from '../../../test/support/sweep-rig.js';
import { holdDestination, releaseDestination } from './destination/commands.js';
import type { DestinationControl, DestinationPolicy } from './destination/control.js';
import { createDestinationControl } from './destination/create-control.js';
import { ensureRows } from './destination/state-sql.js';
import type { LookupResult } from './outcome.js';

const minute = 60_000;
const policy: DestinationPolicy = {
  concurrency: 4,
  breaker: { window: 20, minimum: 5, ratio: 0.9, coolDownMs: 15_000, longestCoolDownMs: 60_000 },
  retryBudget: 0.2,
  backoff: { baseMs: 15_000, capMs: 60_000 },
};

describe('the verifier and a destination that is not to be asked', () => {
  let rig: SweepRig;
  let asked = 0;
  let answer: LookupResult = { kind: 'found', ref: 'R-1' };
  const controls: DestinationControl[] = [];

  beforeAll(async () => {
    rig = await openSweepRig('verifier_limits');
  });
  afterAll(() => rig.close());
  afterEach(async () => {
    await Promise.all(controls.splice(0).map((control) => control.stop()));
    await rig.clear();
    await rig.db.sql('rig.clear.destinations', 'DELETE FROM destination_state', []);
    asked = 0;
    answer = { kind: 'found', ref: 'R-1' };
  });

  const target = (more: Parameters<typeof sweptTarget>[0] = {}) =>
    sweptTarget({
      verification: { maxExecutionMs: 2_000, searchLagMs: 10_000, horizonMs: 30 * minute },
      lookup: () => {
        asked++;
        return Promise.resolve(answer);
      },
      ...more,
    });
  const uncertain = () =>
    insertDelivery(rig.db, {
      state: 'uncertain',
      dueInMs: 0,
      deadlineInMs: 600 * minute,
      operations: [{ kind: 'lead', state: 'uncertain', attempts: 1, sendingAgoMs: 0 }],
    });
  const control = async (more: Partial<DestinationPolicy> = {}): Promise<DestinationControl> => {
    const one = createDestinationControl({
      db: rig.db,
      destination: 'rig',
      policy: { ...policy, ...more },
      logger: createLogger('limits', 'silent'),
    });
    controls.push(one);
    await one.start();
    return one;
  };
  const hold = (destination: string) => holdDestination(rig.db, { destination, by: 'ada', reason: 'maintenance' });
  const blocked = async (reason: string, forMs: number) => {
    await ensureRows(rig.db, ['rig']);
    await rig.db.sql(
      'rig.block',
      `UPDATE destination_state SET mode = 'blocked', reason = $1, open_until = clock_now() + $2::float8 * interval '1 ms'`,
      [reason, forMs],
    );
  };

  it('asks nothing while it is held, and at once when it is released', async () => {
    const id = await uncertain();
    await hold('rig');
    expect(await verifierOf(rig.db, target()).verify()).toBe(0);
    expect(asked).toBe(0);
    await releaseDestination(rig.db, { destination: 'rig', by: 'ada' });
    await verifierOf(rig.db, target()).verify();
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'delivered', operations: [{ ref: 'R-1' }] });
  });

  it.each(['throttled', 'failing', 'auth'])('asks nothing while it is blocked as %s, and again once that time is over', async (reason) => {
    const id = await uncertain();
    await blocked(reason, 20_000);
    expect(await verifierOf(rig.db, target()).verify()).toBe(0);
    expect(asked).toBe(0);
    await rig.advance(20_001);
    await verifierOf(rig.db, target()).verify();
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'delivered' });
  });

  it('asks another destination meanwhile', async () => {
    await hold('elsewhere');
    const id = await uncertain();
    await verifierOf(rig.db, target()).verify();
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'delivered' });
  });

  it('tells an owner once about what stays unanswered behind a hold, without having asked', async () => {
    const id = await uncertain();
    await hold('rig');
    for (const ms of [29 * minute, 30 * minute + 1_000, 31 * minute, 300 * minute]) {
      await rig.advance(ms);
      await verifierOf(rig.db, target()).verify();
      expect(await topicsOf(rig.db)).toEqual(ms > 30 * minute ? ['dlq'] : []);
    }
    expect(asked).toBe(0);
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'uncertain', class: 'unverified_write', raised: true });
    expect((await outboxRows(rig.db))[0]?.headers).toMatchObject({ 'ld-error-class': 'unverified_write' });
    expect(await outcomesOf(rig.db)).toEqual([]);
    await releaseDestination(rig.db, { destination: 'rig', by: 'ada' });
    await rig.advance(400 * minute);
    await verifierOf(rig.db, target()).verify();
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'delivered', raised: false });
  });

  it('has everything wait where a lookup is throttled', async () => {
    const id = await uncertain();
    const { lookups } = await control();
    answer = { kind: 'unknown', code: 'http_429', throttled: { afterMs: 20_000 } };
    await verifierOf(rig.db, target({ lookups })).verify();
    expect(controls[0]).toMatchObject({ mode: 'blocked', reason: 'throttled' });
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'uncertain', operations: [{ absences: 0 }] });
    expect(await outcomesOf(rig.db)).toEqual(['lookup_unknown']);
    // Another process learns it from the row.
    expect(await control()).toMatchObject({ mode: 'blocked', reason: 'throttled' });
  });

  it('counts its lookups in the quota: what finds none comes again, without a trace', async () => {
    const ids = await Promise.all([uncertain(), uncertain(), uncertain()]);
    // One at once, the next after a minute and more.
    const { lookups } = await control({ quota: { requests: 1, perMs: minute } });
    const verifier = verifierOf(rig.db, target({ lookups }));
    await verifier.verify();
    expect(asked).toBe(1);
    const rows = await Promise.all(ids.map((id) => rowOf(rig.db, id)));
    expect(rows.map(({ state }) => state).sort()).toEqual(['delivered', 'uncertain', 'uncertain']);
    expect(await outcomesOf(rig.db)).toEqual(['lookup_found']);
    const leases = await rig.db.sql('rig.leases', `SELECT FROM delivery WHERE state = 'uncertain' AND lease_until IS NOT NULL`, []);
    expect(leases).toHaveLength(0);
    expect(controls[0]?.admit({ operationKey: 'another:rig:lead', retry: false }).kind).toBe('wait');
  });

  it('tells nobody of what had no turn yet for want of quota, until it had none for as long again', async () => {
    const id = await uncertain();
    const lookups = { admit: () => Promise.resolve(false), throttled: () => undefined };
    for (const ms of [31 * minute, 59 * minute, 60 * minute + 1_000]) {
      await rig.advance(ms);
      await verifierOf(rig.db, target({ lookups })).verify();
      expect(await rowOf(rig.db, id)).toMatchObject({ state: 'uncertain', raised: ms > 60 * minute });
    }
    expect(await topicsOf(rig.db)).toEqual(['dlq']);
  });
});
