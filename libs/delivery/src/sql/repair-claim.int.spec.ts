import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { operationKey } from '#contracts';
import { insertDelivery, openSweepRig, type RowOptions, type SweepRig } from '../../../../test/support/sweep-rig.js';
import { historyRoute } from '../history-route.js';
import type { Permit, Repair } from '../permits/permit.js';
import { purgeBatch, purgeBeginning } from './purge.js';
import { claimRepair } from './repair-claim.js';

describe('the claim of a corrected delivery', () => {
  let rig: SweepRig;
  beforeAll(async () => {
    rig = await openSweepRig('repair_claim');
  });
  afterAll(() => rig.close());
  afterEach(async () => {
    await rig.clear();
    await rig.db.sql('spec.clear', 'DELETE FROM contact_state', []);
  });

  const insert = (state: string, operations: RowOptions['operations']) => insertDelivery(rig.db, { state, operations });
  const keyOf = (id: string, kind: string, generation = 1) => operationKey(id, 'rig', kind, generation);
  function permitOf(id: string, repair: Partial<Repair>, more: Partial<Permit> = {}) {
    return {
      batchId: randomUUID(),
      itemId: randomUUID(),
      eventId: id,
      destination: 'rig',
      operationKeys: [keyOf(id, 'contact'), keyOf(id, 'lead')],
      notAfter: new Date(Date.now() + 60_000),
      deadlineAt: new Date(Date.now() + 3_600_000),
      ...more,
      repair: { generation: 1, renew: [], adopt: [], ...repair },
    };
  }
  const claim = (permit: ReturnType<typeof permitOf>, attemptId: string = randomUUID()) =>
    claimRepair(rig.db, { work: { attemptId, plan: undefined as never }, permit, leaseMs: 10_000 });
  const operations = async (id: string) => {
    const rows = await rig.db.sql<{ operation_key: string; state: string; ref: string | null }>(
      'spec.operations',
      'SELECT operation_key, state, destination_ref AS ref FROM operation WHERE event_id = $1 ORDER BY operation_key',
      [id],
    );
    return rows.map(({ operation_key, state, ref }) => `${operation_key.slice(`${id}:rig:`.length)} ${state} ${ref ?? '-'}`);
  };

  it('renews what had succeeded and changes, under a key of its own, and leaves the rest', async () => {
    const id = await insert('delivered', [
      { kind: 'contact', state: 'succeeded', ref: 'C-1' },
      { kind: 'lead', state: 'succeeded', ref: 'L-1' },
    ]);
    const taken = await claim(permitOf(id, { renew: [{ operationKey: keyOf(id, 'contact'), ref: 'C-1' }] }));
    expect(taken).toMatchObject({ generation: 2, operation_keys: [keyOf(id, 'contact', 2), keyOf(id, 'lead')] });
    expect(await operations(id)).toEqual(['contact succeeded C-1', 'contact~g2 pending C-1', 'lead succeeded L-1']);
  });

  it('adopts what silently succeeded, and knows the person by the reference that was found', async () => {
    const id = await insert('dead', [
      { kind: 'contact', state: 'dead' },
      { kind: 'lead', state: 'dead' },
    ]);
    const repair = {
      renew: [{ operationKey: keyOf(id, 'contact'), ref: 'C-7' }],
      adopt: [{ operationKey: keyOf(id, 'lead'), ref: 'L-7' }],
    };
    expect(await claim(permitOf(id, repair))).toMatchObject({ generation: 2 });
    expect(await operations(id)).toEqual(['contact succeeded C-7', 'contact~g2 pending C-7', 'lead succeeded L-7']);
    const contacts = await rig.db.sql('spec.contacts', 'SELECT person_key, contact_ref, owner_key FROM contact_state', []);
    expect(contacts).toEqual([{ person_key: 'person', contact_ref: 'C-7', owner_key: null }]);
  });

  it.each(['pending', 'waiting', 'held'] as const)('adopts what was left %s behind the operation that failed', async (state) => {
    const id = await insert('dead', [
      { kind: 'contact', state: 'dead' },
      { kind: 'lead', state },
    ]);
    const repair = {
      renew: [{ operationKey: keyOf(id, 'lead'), ref: 'L-3' }],
      adopt: [{ operationKey: keyOf(id, 'contact'), ref: 'C-3' }],
    };
    expect(await claim(permitOf(id, repair))).toMatchObject({ generation: 2 });
    expect(await operations(id)).toEqual(['contact succeeded C-3', 'lead succeeded L-3', 'lead~g2 pending L-3']);
  });

  it('makes anew what is not there any more, without its reference, and leaves the rest', async () => {
    const id = await insert('delivered', [
      { kind: 'contact', state: 'succeeded', ref: 'C-1' },
      { kind: 'lead', state: 'succeeded', ref: 'L-1' },
    ]);
    const taken = await claim(permitOf(id, { forget: [{ operationKey: keyOf(id, 'lead'), ref: 'L-1' }] }));
    expect(taken).toMatchObject({ generation: 2, operation_keys: [keyOf(id, 'contact'), keyOf(id, 'lead', 2)] });
    expect(await operations(id)).toEqual(['contact succeeded C-1', 'lead succeeded L-1', 'lead~g2 pending -']);
  });

  it.each<[string, string | null, boolean, string | null]>([
    ['forgets the reference of a person whose record is gone', 'C-1', false, null],
    ['keeps the record that another lead of the person has made since', 'C-2', false, 'C-2'],
    ['lets whoever made the gone record not bring it back', null, true, null],
  ])('%s', async (_, contactRef, owned, after) => {
    const id = await insert('delivered', [
      { kind: 'contact', state: 'succeeded', ref: 'C-1' },
      { kind: 'lead', state: 'succeeded', ref: 'L-1' },
    ]);
    const owner = owned ? [keyOf(id, 'contact'), randomUUID(), '{"phone":"1"}'] : [null, null, null];
    await rig.db.sql(
      'spec.contact',
      `INSERT INTO contact_state (person_key, destination, contact_ref, owner_key, owner_hold_id, owner_fields, updated_at)
       VALUES ('person', 'rig', $1, $2, $3, $4, clock_now())`,
      [contactRef, ...owner],
    );
    const forget = [
      { operationKey: keyOf(id, 'contact'), ref: 'C-1' },
      { operationKey: keyOf(id, 'lead'), ref: 'L-1' },
    ];
    expect(await claim(permitOf(id, { forget }))).toMatchObject({ generation: 2 });
    expect(await operations(id)).toEqual(['contact succeeded C-1', 'contact~g2 pending -', 'lead succeeded L-1', 'lead~g2 pending -']);
    const rows = await rig.db.sql(
      'spec.whole_contacts',
      'SELECT contact_ref, owner_key, owner_hold_id, owner_fields FROM contact_state',
      [],
    );
    expect(rows).toEqual([{ contact_ref: after, owner_key: null, owner_hold_id: null, owner_fields: null }]);
  });

  it.each<'renew' | 'adopt' | 'forget'>(['renew', 'adopt', 'forget'])(
    'is refused, and undone, where what it names under %s is in doubt',
    async (list) => {
      const id = await insert('dead', [
        { kind: 'contact', state: 'dead' },
        { kind: 'lead', state: 'uncertain' },
      ]);
      const other = list === 'renew' ? 'adopt' : 'renew';
      const named = {
        [list]: [{ operationKey: keyOf(id, 'lead'), ref: 'L-1' }],
        [other]: [{ operationKey: keyOf(id, 'contact'), ref: 'C-1' }],
      };
      expect(await claim(permitOf(id, named))).toBeUndefined();
      expect(await operations(id)).toEqual(['contact dead -', 'lead uncertain -']);
    },
  );

  it('tries again under its own key what was proved absent, with whatever request', async () => {
    const id = await insert('dead', [
      { kind: 'contact', state: 'succeeded', ref: 'C-1' },
      { kind: 'lead', state: 'dead', attempts: 4, sendingAgoMs: 60_000 },
    ]);
    await rig.db.sql('spec.pin', "UPDATE operation SET request_hash = 'v1:a', mapping_version = 1 WHERE event_id = $1", [id]);
    expect(await claim(permitOf(id, {}))).toMatchObject({ generation: 1, operation_keys: [keyOf(id, 'contact'), keyOf(id, 'lead')] });
    const rows = await rig.db.sql(
      'spec.lead',
      'SELECT state, attempts, attempts_before, request_hash, sending_at FROM operation WHERE operation_key = $1',
      [keyOf(id, 'lead')],
    );
    expect(rows).toEqual([{ state: 'pending', attempts: 4, attempts_before: 4, request_hash: null, sending_at: null }]);
  });

  it('happens once per item: its own repeat is answered again, any other is refused', async () => {
    const id = await insert('delivered', [{ kind: 'contact', state: 'succeeded', ref: 'C-1' }]);
    const permit = permitOf(id, { renew: [{ operationKey: keyOf(id, 'contact') }] });
    const attempt = randomUUID();
    expect(await claim(permit, attempt)).toMatchObject({ generation: 2 });
    expect(await claim(permit, attempt)).toMatchObject({ generation: 2, operation_keys: [keyOf(id, 'contact', 2)] });
    expect(await claim(permit)).toBeUndefined();
    await rig.db.sql('spec.done', "UPDATE delivery SET state = 'delivered' WHERE event_id = $1", [id]);
    expect(await claim(permit)).toBeUndefined();
    expect(await operations(id)).toEqual(['contact succeeded C-1', 'contact~g2 pending C-1']);
  });

  it('is refused, and undone, once the permit is over; a claim that was made in time is answered again', async () => {
    const id = await insert('delivered', [{ kind: 'contact', state: 'succeeded', ref: 'C-1' }]);
    const permit = permitOf(id, { renew: [{ operationKey: keyOf(id, 'contact') }] });
    await rig.advance(61_000);
    expect(await claim(permit)).toBeUndefined();
    expect(await operations(id)).toEqual(['contact succeeded C-1']);
    await rig.advance(0);
    const [another, attempt] = [{ ...permit, itemId: randomUUID() }, randomUUID()];
    expect(await claim(another, attempt)).toMatchObject({ generation: 2 });
    await rig.advance(61_000);
    expect(await claim(another, attempt)).toMatchObject({ generation: 2 });
  });

  it.each<[string, (id: string) => ReturnType<typeof permitOf>]>([
    ['of another generation', (id) => permitOf(id, { generation: 2 })],
    ['that names an operation of no such delivery', (id) => permitOf(id, { renew: [{ operationKey: keyOf(id, 'note') }] })],
    ['that does not cover its operations', (id) => permitOf(id, {}, { operationKeys: [keyOf(id, 'contact')] })],
    ['for an unknown delivery', () => permitOf(randomUUID(), {})],
  ])('is refused for a permit %s', async (_, permit) => {
    const id = await insert('dead', [
      { kind: 'contact', state: 'succeeded', ref: 'C-1' },
      { kind: 'lead', state: 'dead' },
    ]);
    expect(await claim(permit(id))).toBeUndefined();
    expect(await operations(id)).toEqual(['contact succeeded C-1', 'lead dead -']);
  });

  it.each(['in_flight', 'uncertain', 'waiting', 'erased', 'discarded'])('is refused while the delivery is %s', async (state) => {
    const id = await insert(state, [{ kind: 'lead', state: state as 'waiting' }]);
    expect(await claim(permitOf(id, {}))).toBeUndefined();
  });

  it('is refused for a delivered lead of which nothing changes', async () => {
    const id = await insert('delivered', [{ kind: 'contact', state: 'succeeded', ref: 'C-1' }]);
    expect(await claim(permitOf(id, { adopt: [{ operationKey: keyOf(id, 'contact') }] }))).toBeUndefined();
    expect(await operations(id)).toEqual(['contact succeeded C-1']);
  });

  it('is refused, and its item closed, where somebody has written the record since', async () => {
    const id = await insert('delivered', [{ kind: 'contact', state: 'succeeded', ref: 'C-1' }]);
    const permit = permitOf(id, { renew: [{ operationKey: keyOf(id, 'contact'), ref: 'C-1' }] });
    const work = { attemptId: randomUUID(), plan: undefined as never };
    expect(await claimRepair(rig.db, { work, permit, leaseMs: 10_000, stale: true })).toBeUndefined();
    expect(await operations(id)).toEqual(['contact succeeded C-1']);
    expect(await claim(permit)).toBeUndefined();
  });

  it('keeps with the new operation what its record was compared as, until a person corrects the lead', async () => {
    const id = await insert('delivered', [
      { kind: 'contact', state: 'succeeded', ref: 'C-1' },
      { kind: 'lead', state: 'succeeded', ref: 'L-1' },
    ]);
    const compared = { version: '7', changed_at: '2026-01-01T00:00:00.000Z' };
    await claim(permitOf(id, { renew: [{ operationKey: keyOf(id, 'contact'), ref: 'C-1', compared }] }));
    const kept = async () =>
      rig.db.sql('spec.compared', 'SELECT kind, compared FROM operation WHERE event_id = $1 AND compared IS NOT NULL', [id]);
    expect(await kept()).toEqual([{ kind: 'contact', compared }]);
    await rig.db.sql('spec.dead', "UPDATE delivery SET state = 'dead' WHERE event_id = $1", [id]);
    await rig.db.sql('spec.dead_operation', "UPDATE operation SET state = 'dead' WHERE operation_key = $1", [keyOf(id, 'contact', 2)]);
    const operationKeys = [keyOf(id, 'contact', 2), keyOf(id, 'lead')];
    expect(await claim(permitOf(id, { generation: 2 }, { operationKeys }))).toMatchObject({ generation: 2 });
    expect(await kept()).toEqual([]);
  });

  it('closes the item that is refused, and none that was applied', async () => {
    const id = await insert('dead', [{ kind: 'lead', state: 'dead' }]);
    const [refused, applied] = [permitOf(id, { generation: 2 }), permitOf(id, {})];
    await claim(refused);
    await claim(refused);
    await claim(applied);
    expect(await claim(applied)).toBeUndefined();
    const rows = await rig.db.sql('spec.closed', 'SELECT closed_items, replay_item FROM delivery WHERE event_id = $1', [id]);
    expect(rows).toEqual([{ closed_items: [refused.itemId], replay_item: applied.itemId }]);
  });

  it('is refused for an item that was closed', async () => {
    const id = await insert('dead', [{ kind: 'lead', state: 'dead' }]);
    const permit = permitOf(id, {});
    await rig.db.sql('spec.close', 'UPDATE delivery SET closed_items = ARRAY[$2::uuid] WHERE event_id = $1', [id, permit.itemId]);
    expect(await claim(permit)).toBeUndefined();
  });

  it('keeps the calls of earlier generations in the history, and lets none of their rows outlive the delivery', async () => {
    const id = await insert('delivered', [{ kind: 'contact', state: 'succeeded', ref: 'C-1' }]);
    const note = `INSERT INTO attempt (operation_key, attempt_id, late, number, started_at, outcome) VALUES ($1, gen_random_uuid(), false, 1, clock_now(), 'succeeded')`;
    await rig.db.sql('spec.attempt', note, [keyOf(id, 'contact')]);
    await claim(permitOf(id, { renew: [{ operationKey: keyOf(id, 'contact') }] }));
    await rig.db.sql('spec.attempt', note, [keyOf(id, 'contact', 2)]);
    const { items } = await historyRoute(rig.db)({ items: [{ event_id: id }], records: false });
    expect(items[0]?.attempts.map(({ operation_key }) => operation_key)).toEqual([keyOf(id, 'contact'), keyOf(id, 'contact', 2)]);
    await rig.db.sql('spec.done', "UPDATE delivery SET state = 'delivered' WHERE event_id = $1", [id]);
    await rig.advance(41 * 86_400_000);
    await purgeBatch(rig.db, { after: purgeBeginning, limit: 10, retentionMs: 40 * 86_400_000 });
    expect(await operations(id)).toEqual([]);
    expect(await rig.db.sql('spec.attempts', 'SELECT 1 FROM attempt', [])).toEqual([]);
  });
});
