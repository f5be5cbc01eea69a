import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { operationKey } from '#contracts';
import { createLogger } from '#runtime';
import { insertDelivery, openSweepRig, type SweepRig } from '../../../../test/support/sweep-rig.js';
import { rankOf } from '../contacts/rank.js';
import { lateAfter } from './ddl.js';
import { windowRequest } from './window-request.js';
import { windowRoute } from './window-route.js';

const anyTime = { destination: 'rig', from: '2020-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' };

describe('the deliveries of a window', () => {
  let rig: SweepRig;
  beforeAll(async () => {
    rig = await openSweepRig('window');
  });
  afterAll(() => rig.close());
  afterEach(() => rig.clear());

  /** The rig stores the event id as the event. */
  const event = { organization: 'demo', form: 'contact', campaign: null, accepted_at: new Date(0) };
  const read = (more: object = {}) =>
    windowRoute({ db: rig.db, decode: () => event, logger: createLogger('rig', 'silent') })(windowRequest.parse({ ...anyTime, ...more }));
  const attempt = (key: string, outcome: string, ref: string) =>
    rig.db.sql(
      'rig.attempt',
      `INSERT INTO attempt (operation_key, attempt_id, late, number, started_at, outcome, destination_ref)
       VALUES ($1, gen_random_uuid(), false, 1, clock_now(), $2, $3)`,
      [key, outcome, ref],
    );

  it('come a page at a time, the oldest first, each once', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push(await insertDelivery(rig.db, { state: 'delivered' }));
    await insertDelivery(rig.db, { destination: 'other' });
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const { items, next } = await read({ limit: 2, after });
      seen.push(...items.map(({ event_id }) => event_id));
      after = next;
    } while (after !== undefined);
    expect(seen).toEqual(ids);
    expect((await read({ from: '2099-01-01T00:00:00Z' })).items).toEqual([]);
    expect((await read({ outcome: 'dead' })).items).toEqual([]);
    expect((await read({ form: 'other' })).items).toEqual([]);
    expect((await read({ event_ids: [ids[3]] })).items).toMatchObject([{ event_id: ids[3], form: 'contact', organization: 'demo' }]);
  });

  it('lie in the window in which they were submitted, and in that in which they ended', async () => {
    const moved = async (submitted: string, ended: string): Promise<string> => {
      const id = await insertDelivery(rig.db, { state: 'delivered' });
      await rig.db.sql('rig.moved', 'UPDATE delivery SET submitted_at = $2, updated_at = $3 WHERE event_id = $1', [
        id,
        new Date(submitted),
        new Date(ended),
      ]);
      return id;
    };
    const replayed = await moved('2026-04-01T00:00:00Z', '2026-05-02T10:00:00Z');
    await moved('2026-04-02T00:00:00Z', '2026-05-01T23:59:00Z');
    const slow = await moved('2026-05-01T23:58:59Z', '2026-05-02T00:00:00Z');
    const quick = await moved('2026-05-01T23:59:30Z', '2026-05-02T00:00:10Z');
    await moved('2026-05-01T23:59:40Z', '2026-05-01T23:59:59.999Z');
    const within = await moved('2026-05-02T12:00:00Z', '2026-05-02T12:00:01Z');
    const open = await moved('2026-05-02T13:00:00Z', '2026-05-04T00:00:00Z');
    await moved('2026-05-03T00:00:00Z', '2026-05-03T00:00:01Z');
    await moved('2026-04-03T00:00:00Z', '2026-05-03T00:00:00Z');
    const day = { from: '2026-05-02T00:00:00Z', to: '2026-05-03T00:00:00Z' };
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const { items, next } = await read({ ...day, limit: 2, after });
      seen.push(...items.map(({ event_id }) => event_id));
      // It ends again after the window while pages are read: whatever comes later stays where it is.
      if (after === undefined) await moved('2026-05-01T12:00:00Z', new Date().toISOString());
      after = next;
    } while (after !== undefined);
    expect(seen).toEqual([replayed, slow, quick, within, open]);
  });

  it('say what stands behind each operation, of any generation', async () => {
    const operations = [
      { kind: 'contact', state: 'succeeded' as const, ref: 'C-1' },
      { kind: 'lead', state: 'succeeded' as const, ref: 'R-1' },
    ];
    const id = await insertDelivery(rig.db, { state: 'delivered', operations });
    const key = operationKey(id, 'rig', 'lead');
    const evidence = async () => (await read()).items[0]?.operations.map((one) => [one.with_evidence, one.seen_there, one.generation]);
    expect(await evidence()).toEqual([
      [false, false, 1],
      [false, false, 1],
    ]);
    await attempt(key, 'succeeded', 'R-1');
    await attempt(operationKey(id, 'rig', 'contact'), 'lookup_found', 'C-1');
    expect(await evidence()).toEqual([
      [true, true, 1],
      [true, false, 1],
    ]);
    await rig.db.sql('rig.renew', `UPDATE operation SET operation_key = operation_key || '~g2' WHERE kind = 'lead'`, []);
    await rig.db.sql('rig.generation', 'UPDATE delivery SET generation = 2, operation_keys[2] = $1', [`${key}~g2`]);
    expect(await evidence()).toEqual([
      [true, true, 1],
      [true, false, 2],
    ]);
  });

  it('name the fields of the person that a later lead has written', async () => {
    const id = await insertDelivery(rig.db, { state: 'delivered' });
    const fields = { name: '000000000000001:x', phone: '999999999999999:x' };
    await rig.db.sql(
      'rig.person',
      `INSERT INTO contact_state (person_key, destination, fields, updated_at) VALUES ('person', 'rig', $1, clock_now())`,
      [JSON.stringify(fields)],
    );
    const [unwritten] = (await read()).items;
    expect(unwritten).toMatchObject({ event_id: id, person_key: 'person', newer_fields: ['phone'], contact_held: false });
    expect(unwritten?.contact_written_at).toBeUndefined();
    await rig.db.sql('rig.written', `UPDATE contact_state SET written_at = '2026-05-01T10:00:00.1239Z', owner_key = 'another'`, []);
    expect((await read()).items).toMatchObject([{ contact_written_at: '2026-05-01T10:00:00.123Z', contact_held: true }]);
    await rig.db.sql('rig.forget', 'DELETE FROM contact_state', []);
  });

  it('are those of a person whose fields stand in their record, and say by what reference that goes now', async () => {
    const [older, newer, overwritten] = [
      await insertDelivery(rig.db, { state: 'delivered' }),
      await insertDelivery(rig.db, { state: 'delivered' }),
      await insertDelivery(rig.db, { state: 'delivered' }),
    ];
    const fields = {
      name: rankOf({ submittedAt: new Date(1), eventId: older }),
      phone: rankOf({ submittedAt: new Date(2), eventId: newer }),
    };
    const person = (name: string, destination: string, kept: object) =>
      rig.db.sql(
        'rig.person_of',
        `INSERT INTO contact_state (person_key, destination, contact_ref, fields, updated_at) VALUES ($1, $2, 'C-2', $3, clock_now())`,
        [name, destination, JSON.stringify(kept)],
      );
    await person('person', 'rig', fields);
    await person('other', 'rig', {});
    await person('third', 'elsewhere', { name: rankOf({ submittedAt: new Date(3), eventId: overwritten }) });
    const { items, next } = await read({ person_keys: ['person', 'other', 'third', 'nobody'], limit: 1 });
    expect(items.map(({ event_id, contact_ref }) => [event_id, contact_ref])).toEqual([
      [older, 'C-2'],
      [newer, 'C-2'],
    ]);
    expect(next).toBeUndefined();
    await rig.db.sql('rig.forget', 'DELETE FROM contact_state', []);
  });

  it('are read by an index, however many others there are', async () => {
    await insertDelivery(rig.db, { state: 'delivered' });
    const conditions = {
      delivery_submitted: `submitted_at >= '2020-01-01' AND submitted_at < '2100-01-01'`,
      delivery_late: `submitted_at < '2020-01-01' AND updated_at >= '2020-01-01' AND updated_at - submitted_at > ${lateAfter}`,
    };
    for (const [index, condition] of Object.entries(conditions)) {
      const plan = await rig.db.sql<{ 'QUERY PLAN': string }>(
        `rig.plan_${index}`,
        `EXPLAIN SELECT * FROM delivery WHERE destination = 'rig' AND ${condition}
           AND (submitted_at, event_id) > ('2010-01-01', '00000000-0000-0000-0000-000000000000') ORDER BY submitted_at, event_id LIMIT 200`,
        [],
      );
      expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toContain(index);
    }
  });

  it('are asked for by destination or by event', () => {
    expect(windowRequest.safeParse({ from: anyTime.from, to: anyTime.to }).success).toBe(false);
  });
});
