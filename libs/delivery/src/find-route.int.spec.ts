import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { operationKey } from '#contracts';
import { createLogger } from '#runtime';
import { insertDelivery, openSweepRig, type RowOptions, type SweepRig, sweptTarget, verifierOf } from '../../../test/support/sweep-rig.js';
import { commandRequest } from './command-request.js';
import { commandRoute } from './delivery-commands.js';
import { findRoute } from './find-route.js';
import { historyRoute } from './history-route.js';

const traceId = '0af7651916cd43dd8448eb211c80319c';

describe('finding deliveries by what stands in their attempts', () => {
  let rig: SweepRig;
  beforeAll(async () => {
    rig = await openSweepRig('find');
  });
  afterAll(() => rig.close());
  afterEach(() => rig.clear());

  async function attempted(id: string, more: { traceId?: string; ref?: string } = {}): Promise<string> {
    const attemptId = randomUUID();
    await rig.db.sql(
      'spec.attempt',
      `INSERT INTO attempt (operation_key, attempt_id, late, number, started_at, outcome, trace_id, destination_ref)
       VALUES ($1, $2, false, 1, clock_now(), 'succeeded', $3, $4)`,
      [operationKey(id, 'rig', 'lead'), attemptId, more.traceId ?? null, more.ref ?? null],
    );
    return attemptId;
  }

  it('names the delivery and its operation by attempt id, trace id and reference, each in the form that people paste it', async () => {
    const [id, other] = [await insertDelivery(rig.db), await insertDelivery(rig.db)];
    const attemptId = await attempted(id, { traceId, ref: 'C-100' });
    await attempted(other, { traceId: '1'.repeat(32), ref: 'C-101' });
    const find = findRoute(rig.db);
    const expected = { items: [{ event_id: id, destination: 'rig', operation_key: operationKey(id, 'rig', 'lead') }] };
    expect(await find({ kind: 'attempt_id', value: attemptId.toUpperCase() })).toEqual(expected);
    expect(await find({ kind: 'trace_id', value: traceId.toUpperCase() })).toEqual(expected);
    expect(await find({ kind: 'destination_ref', value: 'C-100' })).toEqual(expected);
  });

  it('finds nothing for what is unknown and for an attempt id that is none', async () => {
    const find = findRoute(rig.db);
    expect(await find({ kind: 'attempt_id', value: randomUUID() })).toEqual({ items: [] });
    expect(await find({ kind: 'attempt_id', value: "'; drop table attempt" })).toEqual({ items: [] });
    expect(await find({ kind: 'destination_ref', value: 'C-999' })).toEqual({ items: [] });
  });

  it('gives the newest 50 of a reference that a destination uses for everything', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 55; n += 1) ids.push(await insertDelivery(rig.db));
    for (const id of ids) await attempted(id, { ref: 'ok' });
    const { items } = await findRoute(rig.db)({ kind: 'destination_ref', value: 'ok' });
    expect(items.map(({ event_id }) => event_id)).toEqual([...ids].reverse().slice(0, 50));
  });

  it('reads an index for each of them where there are many attempts', async () => {
    await rig.db.sql(
      'spec.many',
      `INSERT INTO attempt (operation_key, attempt_id, late, number, started_at, outcome, trace_id, destination_ref)
       SELECT n::text, gen_random_uuid(), false, 1, clock_now(), 'succeeded', md5(n::text), 'R-' || n FROM generate_series(1, 40000) AS n`,
      [],
    );
    await rig.analyze('attempt');
    for (const [index, condition] of [
      ['attempt_id', `attempt_id = '${randomUUID()}'`],
      ['attempt_trace', `trace_id = '${traceId}'`],
      ['attempt_ref', `destination_ref = 'R-7'`],
    ] as const) {
      const plan = await rig.db.sql<{ 'QUERY PLAN': string }>(
        `spec.explain.${index}`,
        `EXPLAIN SELECT number FROM attempt WHERE ${condition}`,
        [],
      );
      expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toContain(`using ${index} `);
    }
  });

  describe('the course of a whole lead', () => {
    it('is every delivery of the event, with its next time and where its record lay', async () => {
      const id = await insertDelivery(rig.db, { dueInMs: 60_000 });
      await rig.db.sql('spec.origin', `UPDATE delivery SET origin = 'lead.accepted/3/77' WHERE event_id = $1`, [id]);
      const { items } = await historyRoute(rig.db)({ items: [{ event_id: id }, { event_id: randomUUID() }], records: false });
      expect(items).toMatchObject([
        {
          event_id: id,
          destination: 'rig',
          origin: { topic: 'lead.accepted', partition: 3, offset: '77' },
          next_attempt_at: expect.stringMatching(/Z$/),
          claimed_at: expect.stringMatching(/Z$/),
        },
      ]);
    });
  });

  describe('the command to look up', () => {
    const lookup = { command: 'lookup', destination: 'rig', by: 'ada' } as const;
    const uncertain: RowOptions = {
      state: 'uncertain',
      dueInMs: 1_800_000,
      operations: [{ kind: 'lead', state: 'uncertain', sendingAgoMs: 60_000 }],
    };
    const target = sweptTarget({ lookup: () => Promise.resolve({ kind: 'found', ref: 'C-7' }) });
    const run = (body: object, served = target) =>
      commandRoute({
        db: rig.db,
        target: (name) => (name === 'rig' ? served : undefined),
        relayWake: () => {},
        logger: createLogger('rig', 'silent'),
      })(commandRequest.parse(body));

    it('has an uncertain delivery looked up that was due much later', async () => {
      const id = await insertDelivery(rig.db, uncertain);
      const verifier = verifierOf(rig.db, target);
      expect(await verifier.verify()).toBe(0);
      expect(await run({ ...lookup, event_id: id, operation_key: operationKey(id, 'rig', 'lead') })).toEqual({
        applied: true,
        state: 'uncertain',
      });
      expect(await verifier.verify()).toBe(1);
      const { items } = await historyRoute(rig.db)({ items: [{ event_id: id }], records: false });
      expect(items[0]).toMatchObject({ state: 'delivered', attempts: [{ outcome: 'lookup_found', ref: 'C-7' }] });
    });

    it('changes nothing where there is nothing to look up, and says why', async () => {
      const [id, done] = [await insertDelivery(rig.db, uncertain), await insertDelivery(rig.db, { state: 'dead' })];
      const key = (event: string) => operationKey(event, 'rig', 'lead');
      expect(await run({ ...lookup, event_id: done, operation_key: key(done) })).toEqual({
        applied: false,
        reason: 'not_in_this_state',
        state: 'dead',
      });
      expect(await run({ ...lookup, event_id: randomUUID(), operation_key: key(id) })).toEqual({
        applied: false,
        reason: 'unknown_delivery',
      });
      expect(await run({ ...lookup, event_id: id, operation_key: key(done) })).toMatchObject({
        applied: false,
        reason: 'not_in_this_state',
      });
      expect(await run({ ...lookup, event_id: id, operation_key: key(id) }, sweptTarget())).toMatchObject({
        applied: false,
        reason: 'no_lookup',
      });
    });
  });
});
