import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import type { DeliveryState, OperationState } from '#contracts';
import { outboxDdl } from '#messaging';
import { createLogger, type Database, migrateService, newEventId, openDatabase } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { deliveryDatabaseSettings, deliveryDdl } from '../ddl.js';
import { windowDdl } from '../reconcile/ddl.js';
import { recoveryDdl } from '../recovery-ddl.js';
import { contactBusy } from './busy.js';
import { type Contacts, type ContactWrite, createContacts, type SettleOptions } from './contacts.js';
import { type TidyCursor, tidyBeginning, tidyContacts } from './tidy-rows.js';

class CreateTables1764374400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const ddl of [deliveryDdl, recoveryDdl, windowDdl, outboxDdl]) await runner.query(ddl);
  }

  async down(): Promise<void> {}
}

const person = 'v1:0f0f';
const noon = Date.UTC(2026, 0, 5, 12);

describe('contacts', () => {
  let database: TestDatabase;
  let db: Database;
  let contacts: Contacts;
  let other: Contacts;
  let relayWakes = 0;

  beforeAll(async () => {
    database = await testDatabase('contacts');
    await migrateService({ url: database.url, service: 'crm-writer', migrations: [CreateTables1764374400000] });
    const settings = deliveryDatabaseSettings;
    db = await openDatabase({ url: database.url, role: 'ld_crm_writer', schema: 'crm_writer', applicationName: 'contacts', settings });
    const process = () =>
      createContacts({
        db,
        logger: createLogger('contacts', 'silent'),
        wakeTopic: (name) => `wake.${name}`,
        relayWake: () => relayWakes++,
      });
    contacts = process();
    other = process();
  });
  afterAll(async () => {
    contacts.stop();
    other.stop();
    await db.close();
    await database.drop();
  });
  afterEach(async () => {
    for (const table of ['contact_state', 'delivery', 'operation', 'outbox']) await db.sql(`clear.${table}`, `DELETE FROM ${table}`, []);
  });

  /** A lead whose contact operation was just claimed: its rows, and what it asks for. `afterMs`: submitted this long after noon. */
  async function claimed(afterMs = 0, fields = ['name', 'email'], personKey = person): Promise<ContactWrite> {
    const eventId = newEventId();
    const submittedAt = new Date(noon + afterMs);
    const write = {
      eventId,
      destination: 'crm',
      operationKey: `${eventId}:crm:contact`,
      personKey,
      submittedAt,
      fields,
    };
    await db.sql(
      'spec.delivery',
      `INSERT INTO delivery (event_id, destination, state, attempt_id, submitted_at, deadline_at, claimed_at, updated_at, test, lead_ref,
         operation_keys, record_key, event, traceparent)
       VALUES ($1, 'crm', 'in_flight', $2, $3, now() + interval '4 h', now(), now(), false, 'L-1', ARRAY[$4], $5, 'event', 'trace')`,
      [eventId, crypto.randomUUID(), submittedAt, write.operationKey, Buffer.from(personKey)],
    );
    await db.sql(
      'spec.operation',
      `INSERT INTO operation (operation_key, event_id, destination, kind, state, updated_at) VALUES ($1, $2, 'crm', 'contact', 'in_flight', now())`,
      [write.operationKey, eventId],
    );
    return write;
  }

  /** As recording an outcome does it. */
  async function recorded({ operationKey, eventId }: ContactWrite, state: OperationState, more: { ref?: string; code?: string } = {}) {
    await db.sql('spec.done', 'UPDATE operation SET state = $2, destination_ref = $3 WHERE operation_key = $1', [
      operationKey,
      state,
      more.ref ?? null,
    ]);
    const delivery: DeliveryState = state === 'succeeded' ? 'delivered' : state;
    await db.sql(
      'spec.done_delivery',
      `UPDATE delivery SET state = $2, code = $3, next_attempt_at = CASE WHEN $2 = 'waiting' THEN clock_timestamp() + interval '1 h' END
       WHERE event_id = $1`,
      [eventId, delivery, more.code ?? null],
    );
  }

  /** The hold that an operation gets of a row that it may have. */
  async function held(write: ContactWrite): Promise<string> {
    const lock = await contacts.acquire(write);
    if (lock.kind === 'busy') throw new Error("the row is another's");
    return lock.holdId;
  }

  const rowOf = async (): Promise<Record<string, unknown> | undefined> =>
    (await db.sql<Record<string, unknown>>('spec.row', 'SELECT * FROM contact_state', []))[0];
  const settled = async (write: ContactWrite, options?: SettleOptions): Promise<void> => {
    contacts.settle(write, options);
    for (let round = 0; round < 300 && (await rowOf())?.owner_key !== null; round++) await delay(10);
    expect((await rowOf())?.owner_key).toBeNull();
  };

  it('makes the second lead of a person wait until the first has ended, then tells it the reference', async () => {
    const [first, second] = [await claimed(0), await claimed(50)];
    expect(await contacts.acquire(first)).toEqual({ kind: 'ours', holdId: expect.any(String), ref: undefined, newer: [] });
    expect(await other.acquire(second)).toEqual({ kind: 'busy', waitMs: expect.any(Number) });
    await recorded(first, 'succeeded', { ref: 'c-1' });
    await settled(first);
    expect(await other.acquire(second)).toEqual({ kind: 'ours', holdId: expect.any(String), ref: 'c-1', newer: [] });
  });

  it('gives the row to one of fifty that come at once, in two processes', async () => {
    const writes = await Promise.all(Array.from({ length: 50 }, (_, index) => claimed(index)));
    const locks = await Promise.all(writes.map((write, index) => (index % 2 ? contacts : other).acquire(write)));
    expect(locks.filter(({ kind }) => kind === 'ours')).toHaveLength(1);
    const winner = writes[locks.findIndex(({ kind }) => kind === 'ours')];
    const again = await Promise.all(writes.map((write) => other.acquire(write)));
    expect(again.map(({ kind }) => kind === 'ours')).toEqual(writes.map((write) => write === winner));
  });

  it('keeps people and destinations apart', async () => {
    const [first, stranger] = [await claimed(0), await claimed(0, [], 'v1:else')];
    const elsewhere = { ...(await claimed(0)), destination: 'marketing' };
    const locks = await Promise.all([first, stranger, elsewhere].map((write) => contacts.acquire(write)));
    expect(locks.map(({ kind }) => kind)).toEqual(['ours', 'ours', 'ours']);
  });

  it('learns the reference from the rows alone where the process died before it settled', async () => {
    const [first, second] = [await claimed(1_000), await claimed(0)];
    await contacts.acquire(first);
    await recorded(first, 'succeeded', { ref: 'c-1' });
    expect(await other.acquire(second)).toEqual({ kind: 'ours', holdId: expect.any(String), ref: 'c-1', newer: ['name', 'email'] });
  });

  it.each(['dead', 'expired', 'discarded', 'erased'] as const)('is free once its owner is %s, and keeps nothing of it', async (state) => {
    const [first, second] = [await claimed(1_000), await claimed(0)];
    await contacts.acquire(first);
    await recorded(first, state, { ref: 'not-proved' });
    expect(await other.acquire(second)).toEqual({ kind: 'ours', holdId: expect.any(String), ref: undefined, newer: [] });
  });

  it('knows when the record was written last: by a success alone, settled or found by the next or by the tidying', async () => {
    const written = async () => (await rowOf())?.written_at;
    const recordedAt = async ({ operationKey }: ContactWrite) => {
      const rows = await db.sql<{ at: Date }>('spec.at', 'SELECT updated_at AS at FROM operation WHERE operation_key = $1', [operationKey]);
      return rows[0]?.at;
    };
    const [first, second, third, fourth] = [await claimed(0), await claimed(50), await claimed(90), await claimed(95)];
    await contacts.acquire(first);
    expect(await written()).toBeNull();
    await recorded(first, 'succeeded', { ref: 'c-1' });
    await settled(first);
    expect(await written()).toEqual(await recordedAt(first));
    await contacts.acquire(second);
    await recorded(second, 'dead');
    await settled(second);
    expect(await written()).toEqual(await recordedAt(first));
    await contacts.acquire(third);
    await recorded(third, 'succeeded');
    await contacts.acquire(fourth);
    expect(await written()).toEqual(await recordedAt(third));
    await recorded(fourth, 'succeeded');
    await db.sql('spec.old', `UPDATE contact_state SET updated_at = now() - interval '11 minutes'`, []);
    await tidyContacts(db, { after: tidyBeginning, limit: 10 });
    expect(await written()).toEqual(await recordedAt(fourth));
  });

  it.each(['uncertain', 'waiting', 'pending', 'held', 'in_flight'] as const)(
    'stays with an owner that is %s: it may have written, and comes back',
    async (state) => {
      const [first, second] = [await claimed(0), await claimed(50)];
      await contacts.acquire(first);
      await recorded(first, state);
      contacts.settle(first);
      await delay(100);
      expect((await other.acquire(second)).kind).toBe('busy');
      expect((await other.acquire(first)).kind).toBe('ours');
    },
  );

  it('is freed by an owner that waits after a call that provably did nothing', async () => {
    const [first, second] = [await claimed(0), await claimed(50)];
    const notSentUnder = await held(first);
    await recorded(first, 'waiting');
    await settled(first, { notSentUnder });
    expect((await other.acquire(second)).kind).toBe('ours');
    expect((await contacts.acquire(first)).kind).toBe('busy');
  });

  it('is not freed by what is said late of an earlier hold of its owner', async () => {
    const [first, second] = [await claimed(0), await claimed(50)];
    const [early, now] = [await held(first), await held(first)];
    contacts.settle(first, { notSentUnder: early });
    await delay(100);
    expect((await other.acquire(second)).kind).toBe('busy');
    await settled(first, { notSentUnder: now });
    expect((await other.acquire(second)).kind).toBe('ours');
  });

  it('names the fields that a newer submission wrote, and only those', async () => {
    const newer = await claimed(60_000, ['name', 'email']);
    await contacts.acquire(newer);
    await recorded(newer, 'succeeded', { ref: 'c-1' });
    await settled(newer);
    const older = await claimed(0, ['name', 'phone']);
    expect(await contacts.acquire(older)).toEqual({ kind: 'ours', holdId: expect.any(String), ref: 'c-1', newer: ['name'] });
    await recorded(older, 'succeeded');
    await settled(older);
    expect(await rowOf()).toMatchObject({ contact_ref: 'c-1' });
    const newest = await claimed(120_000, ['name', 'email', 'phone']);
    expect(await contacts.acquire(newest)).toMatchObject({ newer: [] });
    const between = await claimed(30_000, ['name', 'email', 'phone']);
    await recorded(newest, 'dead');
    expect(await contacts.acquire(between)).toMatchObject({ newer: ['name', 'email'] });
  });

  it('forgets a record that is gone at the destination, and who wrote what in it', async () => {
    const [first, second] = [await claimed(60_000), await claimed(0)];
    await contacts.acquire(first);
    await recorded(first, 'succeeded', { ref: 'c-1' });
    await settled(first);
    const lock = await contacts.acquire(second);
    expect(lock).toEqual({ kind: 'ours', holdId: expect.any(String), ref: 'c-1', newer: ['name', 'email'] });
    await recorded(second, 'waiting');
    await settled(second, { notSentUnder: 'holdId' in lock ? lock.holdId : undefined, gone: true });
    expect(await contacts.acquire(second)).toEqual({ kind: 'ours', holdId: expect.any(String), ref: undefined, newer: [] });
  });

  it('keeps the reference of what nobody settled, and forgets people after their time, a batch at a time', async () => {
    const people = ['v1:a', 'v1:b', 'v1:c', 'v1:d'];
    const writes = await Promise.all(people.map((key) => claimed(0, ['name'], key)));
    const [first, open, fresh, old] = writes as [ContactWrite, ContactWrite, ContactWrite, ContactWrite];
    for (const write of writes) await contacts.acquire(write);
    for (const write of [first, fresh]) await recorded(write, 'succeeded', { ref: 'c-1' });
    const since = (write: ContactWrite, time: string, owner: string | null = write.operationKey) =>
      db.sql('spec.since', `UPDATE contact_state SET updated_at = now() - $2::interval, owner_key = $3 WHERE person_key = $1`, [
        write.personKey,
        time,
        owner,
      ]);
    await since(first, '11 minutes');
    await since(open, '401 days');
    await since(old, '401 days', null);
    const batches = [];
    for (let after: TidyCursor | undefined = tidyBeginning; after !== undefined; after = batches.at(-1)?.next) {
      batches.push(await tidyContacts(db, { after, limit: 2 }));
    }
    expect(batches.map(({ settled, gone }) => ({ settled, gone })).filter(({ settled, gone }) => settled + gone > 0)).toEqual([
      { settled: 1, gone: 0 },
      { settled: 0, gone: 1 },
    ]);
    const rows = await db.sql('spec.rows', 'SELECT person_key, owner_key, contact_ref FROM contact_state ORDER BY 1', []);
    expect(rows).toEqual([
      { person_key: 'v1:a', owner_key: null, contact_ref: 'c-1' },
      { person_key: 'v1:b', owner_key: open.operationKey, contact_ref: null },
      { person_key: 'v1:c', owner_key: fresh.operationKey, contact_ref: null },
    ]);
  });

  it('wakes the oldest that waits when it is freed, at once and with its own bytes', async () => {
    const [first, late, early] = [await claimed(0), await claimed(90), await claimed(50)];
    await contacts.acquire(first);
    for (const write of [late, early]) await recorded(write, 'waiting', { code: contactBusy });
    await recorded(first, 'succeeded', { ref: 'c-1' });
    const before = relayWakes;
    await settled(first);
    const rows = await db.sql<{ topic: string; headers: Record<string, string>; key: Buffer }>('spec.outbox', 'SELECT * FROM outbox', []);
    expect(rows).toEqual([expect.objectContaining({ topic: 'wake.crm', key: Buffer.from(person), value: Buffer.from('event') })]);
    expect(rows[0]?.headers).toEqual({
      'ld-event-id': early.eventId,
      'ld-destinations': 'crm',
      'ld-not-before': expect.stringMatching(/^\d{13}$/),
      'ld-deadline-at': expect.stringMatching(/^\d{13}$/),
      traceparent: 'trace',
    });
    expect(relayWakes).toBe(before + 1);
    const due = await db.sql<{ event_id: string }>(
      'spec.due',
      'SELECT event_id FROM delivery WHERE next_attempt_at <= clock_timestamp()',
      [],
    );
    expect(due).toEqual([{ event_id: early.eventId }]);
  });

  it('makes one record of a person whose leads meet in a CRM that plainly creates and loses every other answer', async () => {
    const records: string[] = [];
    const writes = await Promise.all(Array.from({ length: 8 }, (_, index) => claimed(index * 50)));
    let calls = 0;
    await Promise.all(
      writes.map(async (write, index) => {
        const process = index % 2 ? contacts : other;
        let lock = await process.acquire(write);
        while (lock.kind === 'busy') {
          await delay(5);
          lock = await process.acquire(write);
        }
        await delay(5);
        const ref = lock.ref ?? `c-${records.push(write.eventId)}`;
        // Every other answer is lost: uncertain, until a lookup tells.
        if (calls++ % 2 === 0) {
          await recorded(write, 'uncertain');
          await delay(30);
        }
        await recorded(write, 'succeeded', { ref });
        if (index % 3) process.settle(write);
      }),
    );
    expect(records).toHaveLength(1);
    expect(calls).toBe(8);
  });
});
