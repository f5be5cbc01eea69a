import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { operationKey } from '#contracts';
import { createLogger } from '#runtime';
import { insertDelivery, openSweepRig, type SweepRig } from '../../../../test/support/sweep-rig.js';
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
    expect((await read()).items).toMatchObject([
      { event_id: id, person_key: 'person', newer_fields: ['phone'], contact_written_at: expect.any(String) },
    ]);
    await rig.db.sql('rig.forget', 'DELETE FROM contact_state', []);
  });

  it('are read by an index, however many others there are', async () => {
    await insertDelivery(rig.db, { state: 'delivered' });
    const plan = await rig.db.sql<{ 'QUERY PLAN': string }>(
      'rig.plan',
      `EXPLAIN SELECT * FROM delivery WHERE destination = 'rig' AND submitted_at >= '2020-01-01' AND submitted_at < '2100-01-01'
         AND (submitted_at, event_id) > ('2020-01-01', '00000000-0000-0000-0000-000000000000') ORDER BY submitted_at, event_id LIMIT 200`,
      [],
    );
    expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toContain('delivery_submitted');
  });

  it('are asked for by destination or by event', () => {
    expect(windowRequest.safeParse({ from: anyTime.from, to: anyTime.to }).success).toBe(false);
  });
});
