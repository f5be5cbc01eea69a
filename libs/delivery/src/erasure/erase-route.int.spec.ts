import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger, newEventId } from '#runtime';
import {
  insertDelivery,
  openSweepRig,
  outboxRows,
  type RowOptions,
  rowOf,
  type SweepRig,
  sweptTarget,
} from '../../../../test/support/sweep-rig.js';
import type { StoredDelivery } from '../stored-delivery.js';
import { eraseRequest, eraseRoute } from './erase-route.js';

describe('leads:erase', () => {
  let rig: SweepRig;
  const changed: StoredDelivery[] = [];
  beforeAll(async () => {
    rig = await openSweepRig('erase_route');
  });
  afterAll(() => rig.close());
  afterEach(async () => {
    await rig.clear();
    await rig.db.sql('spec.clear.contacts', 'DELETE FROM contact_state', []);
    changed.length = 0;
  });

  const insert = (state: string, more: RowOptions = {}) => insertDelivery(rig.db, { state, ...more });
  const erase = (ids: string[], more: { whole_person?: boolean; person_key?: string; dry_run?: boolean } = {}) => {
    const { dry_run, ...item } = more;
    const body = eraseRequest.parse({ items: ids.map((event_id) => ({ event_id, ...item })), dry_run });
    return eraseRoute({
      db: rig.db,
      target: (name) => (name === 'rig' ? sweptTarget() : undefined),
      onChange: (after) => changed.push(after),
      relayWake: () => {},
      logger: createLogger('rig', 'silent'),
    })(body);
  };
  const contact = (owner: string | null) =>
    rig.db.sql(
      'spec.contact',
      `INSERT INTO contact_state (person_key, destination, owner_key, contact_ref, updated_at) VALUES ('person', 'rig', $1, 'C-9', clock_now())`,
      [owner],
    );
  const keyOf = async (id: string) =>
    (await rig.db.sql<{ key: Buffer | null }>('spec.key', 'SELECT record_key AS key FROM delivery WHERE event_id = $1', [id]))[0]?.key;

  it.each(['pending', 'waiting', 'held', 'dead', 'expired'])(
    'ends what is %s as erased, without a call, and announces that',
    async (state) => {
      const id = await insert(state, {
        operations: [
          { kind: 'contact', state: 'succeeded', ref: 'C-1' },
          { kind: 'lead', state: state as 'dead' },
        ],
      });
      const answer = await erase([id], { whole_person: true });
      expect(answer).toEqual({
        places: { open: 0, unfinished: 0, person_keys: 0, contacts: 0 },
        references: [{ destination: 'rig', kind: 'contact', ref: 'C-1' }],
      });
      expect(await rowOf(rig.db, id)).toMatchObject({
        state: 'erased',
        operations: [
          { kind: 'contact', state: 'succeeded', ref: 'C-1', attempts: 0 },
          { kind: 'lead', state: 'erased', attempts: 0 },
        ],
      });
      expect((await outboxRows(rig.db)).map(({ topic, value }) => `${topic} ${value}`)).toEqual(['resolved erased']);
      expect(changed.map((after) => after.state)).toEqual(['erased']);
      expect(await keyOf(id)).toBeNull();
    },
  );

  it.each(['in_flight', 'uncertain'])('lets what is %s finish first, and ends what is left of it then', async (state) => {
    const id = await insert(state, {
      operations: [
        { kind: 'contact', state: state as 'uncertain' },
        { kind: 'lead', state: 'pending' },
      ],
    });
    const before = await rowOf(rig.db, id);
    expect((await erase([id], { whole_person: true })).places).toEqual({ open: 0, unfinished: 1, person_keys: 1, contacts: 0 });
    expect(await rowOf(rig.db, id)).toEqual(before);
    expect(await outboxRows(rig.db)).toEqual([]);
    await rig.db.sql(
      'spec.finish',
      "UPDATE operation SET state = 'succeeded', destination_ref = 'C-2' WHERE event_id = $1 AND kind = 'contact'",
      [id],
    );
    await rig.db.sql('spec.finish_delivery', "UPDATE delivery SET state = 'waiting' WHERE event_id = $1", [id]);
    expect(await erase([id], { whole_person: true })).toEqual({
      places: { open: 0, unfinished: 0, person_keys: 0, contacts: 0 },
      references: [{ destination: 'rig', kind: 'contact', ref: 'C-2' }],
    });
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'erased' });
  });

  it('has somebody look for what may have been written without an answer', async () => {
    const id = await insert('waiting', { operations: [{ kind: 'lead', state: 'waiting', attempts: 1 }] });
    await rig.db.sql(
      'spec.attempt',
      `INSERT INTO attempt (operation_key, attempt_id, late, number, started_at, outcome)
       SELECT operation_keys[1], gen_random_uuid(), false, 1, clock_now(), 'transient' FROM delivery WHERE event_id = $1`,
      [id],
    );
    expect((await erase([id])).references).toEqual([{ destination: 'rig', kind: 'lead', ref: `external_id:${id}` }]);
  });

  it('leaves what was delivered as it is, and names its records', async () => {
    const id = await insert('delivered', { operations: [{ kind: 'lead', state: 'succeeded', ref: 'L-1' }] });
    expect(await erase([id])).toEqual({
      places: { open: 0, unfinished: 0, person_keys: 0, contacts: 0 },
      references: [{ destination: 'rig', kind: 'lead', ref: 'L-1' }],
    });
    expect(await rowOf(rig.db, id)).toMatchObject({ state: 'delivered' });
    expect(await outboxRows(rig.db)).toEqual([]);
  });

  it('ends rows of a destination that nobody serves, and such as have lost their operations', async () => {
    const gone = await insert('dead', { destination: 'removed' });
    const lost = await insert('held', { operations: [], lost: ['lead'] });
    expect((await erase([gone, lost])).places).toMatchObject({ open: 0, unfinished: 0 });
    expect(await rowOf(rig.db, gone)).toMatchObject({ state: 'erased' });
    expect(await rowOf(rig.db, lost)).toMatchObject({ state: 'erased' });
  });

  it('forgets the person with the last lead alone, and never while an operation stands in that row', async () => {
    const done = await insert('delivered', { operations: [{ kind: 'contact', state: 'succeeded', ref: 'C-1' }] });
    await contact(null);
    const partly = await erase([done]);
    expect(partly.places.contacts).toBe(0);
    expect(partly.references).toEqual([]);
    const left = async () => (await rig.db.sql('spec.contacts', 'SELECT 1 FROM contact_state', [])).length;
    expect(await left()).toBe(1);

    const busy = await insert('uncertain', { operations: [{ kind: 'contact', state: 'uncertain' }] });
    await rig.db.sql('spec.own', 'UPDATE contact_state SET owner_key = (SELECT operation_keys[1] FROM delivery WHERE event_id = $1)', [
      busy,
    ]);
    expect((await erase([busy], { whole_person: true })).places.contacts).toBe(1);
    await rig.db.sql('spec.end', "UPDATE operation SET state = 'succeeded', destination_ref = 'C-1' WHERE event_id = $1", [busy]);
    await rig.db.sql('spec.end_delivery', "UPDATE delivery SET state = 'delivered' WHERE event_id = $1", [busy]);
    expect(await erase([busy], { whole_person: true })).toEqual({
      places: { open: 0, unfinished: 0, person_keys: 0, contacts: 0 },
      references: [
        { destination: 'rig', kind: 'contact', ref: 'C-1' },
        { destination: 'rig', kind: 'contact', ref: 'C-9' },
      ],
    });
    expect(await left()).toBe(0);
  });

  it('finds what is known of a person whose deliveries are purged, by the key that the vault knew', async () => {
    await contact(null);
    const id = newEventId();
    const asked = { whole_person: true, person_key: 'person' };
    const found = {
      places: { open: 0, unfinished: 0, person_keys: 0, contacts: 1 },
      references: [{ destination: 'rig', kind: 'contact', ref: 'C-9' }],
    };
    expect(await erase([id], { ...asked, dry_run: true })).toEqual(found);
    expect((await erase([id], asked)).places.contacts).toBe(0);
  });

  it('finds the person by half of the key, where the vault cannot be opened any more', async () => {
    const half = '0f1e2d3c4b5a6978';
    await rig.db.sql(
      'spec.contacts_of_half',
      `INSERT INTO contact_state (person_key, destination, contact_ref, updated_at) VALUES ($1, 'rig', 'C-1', clock_now()),
       ($2, 'rig', 'C-2', clock_now()), ($3, 'rig', 'C-3', clock_now())`,
      [`${half}ffee000000000000`, `${half.slice(0, 15)}9ffee000000000000`, half.slice(0, 8)],
    );
    const asked = { whole_person: true, person_key: half };
    expect(await erase([newEventId()], { ...asked, dry_run: true })).toMatchObject({
      places: { contacts: 1 },
      references: [{ destination: 'rig', kind: 'contact', ref: 'C-1' }],
    });
    expect((await erase([newEventId()], asked)).places.contacts).toBe(0);
    const left = await rig.db.sql<{ ref: string }>('spec.left_of_half', 'SELECT contact_ref AS ref FROM contact_state ORDER BY 1', []);
    expect(left).toEqual([{ ref: 'C-2' }, { ref: 'C-3' }]);
  });

  it('only counts where it is asked to, and changes nothing when it is repeated', async () => {
    const id = await insert('waiting');
    const before = await rowOf(rig.db, id);
    expect((await erase([id], { dry_run: true })).places).toMatchObject({ open: 1, person_keys: 1 });
    expect(await rowOf(rig.db, id)).toEqual(before);
    await erase([id]);
    const once = await rowOf(rig.db, id);
    await erase([id]);
    expect(await rowOf(rig.db, id)).toEqual(once);
    expect(await outboxRows(rig.db)).toHaveLength(1);
  });
});
