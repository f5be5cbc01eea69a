import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { headers } from '#contracts';
import { type Database, type InternalClient, InternalUnavailable } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, openIntakeDatabase, silent, submission } from '../../test/fixture.js';
import { type AcceptTools, acceptLeads } from '../accept-leads.js';
import { Reannouncer } from './reannouncer.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

let database: TestDatabase;
let db: Database;
let owner: pg.Client;
let tools: AcceptTools;
/** What the owner of deliveries knows: event ids and destinations. */
let owned: string[] = [];
let ownerAnswers = true;

const crmWriter: InternalClient = {
  post: async <T>(_path: string, body: unknown): Promise<T> => {
    if (!ownerAnswers) throw new InternalUnavailable('away');
    const { items } = body as { items: { event_id: string }[] };
    const deliveriesOf = (eventId: string) =>
      owned
        .filter((one) => one.startsWith(eventId))
        .map((one) => ({ destination: one.slice(eventId.length + 1), state: 'pending', as_of: '', operations: [] }));
    return { items: items.map(({ event_id }) => ({ event_id, deliveries: deliveriesOf(event_id) })) } as T;
  },
  close: async () => {},
};
let reannouncer: Reannouncer;

beforeAll(async () => {
  database = await testDatabase('intake_reannounce');
  db = await openIntakeDatabase(database.url);
  owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  tools = acceptTools(db);
  reannouncer = new Reannouncer({ db, owner: crmWriter, relayWake: () => {}, logger: silent, everyMs: 60_000 });
});
afterAll(async () => {
  await owner?.end();
  await db?.close();
  await database?.drop();
});
beforeEach(async () => {
  owned = [];
  ownerAnswers = true;
  await owner.query('truncate intake.delivery, intake.outbox');
  await passes('0 seconds');
});

/** Lets the database's clock run ahead. */
const passes = (time: string) =>
  owner.query(
    `create or replace function intake.clock_now() returns timestamptz language sql volatile as $$select clock_timestamp() + interval '${time}'$$`,
  );

async function newLead(): Promise<string> {
  const { context } = tools.telemetry.startSpan('test', { kind: 'server' });
  const [answer] = await acceptLeads(tools, [{ submission: submission(), trace: context }]);
  if (answer?.kind !== 'accepted') throw new Error('not accepted');
  return answer.eventId;
}
async function recordsOf(eventId: string) {
  const { rows } = await owner.query<{ key: Buffer; value: Buffer; headers: Record<string, string> }>(
    `select key, value, headers from intake.outbox where headers ->> '${headers.eventId}' = $1 order by id`,
    [eventId],
  );
  return rows;
}

describe('a lead that nobody claimed', () => {
  it('is announced again with the same bytes, after five minutes and no earlier', async () => {
    const eventId = await newLead();
    await passes('4 minutes 59 seconds');
    expect(await reannouncer.sweep()).toBe(0);
    await passes('5 minutes 1 second');
    expect(await reannouncer.sweep()).toBe(1);
    const [first, second] = await recordsOf(eventId);
    expect(second).toEqual(first);
  });

  it('is announced for those destinations alone whose owner lacks it', async () => {
    const eventId = await newLead();
    owned = [`${eventId} crm`];
    await passes('6 minutes');
    expect(await reannouncer.sweep()).toBe(1);
    const records = await recordsOf(eventId);
    expect(records[1]?.headers[headers.destinations]).toBe('marketing');
    const { rows } = await owner.query('select destination, claimed_at is not null as claimed from intake.delivery order by destination');
    expect(rows).toEqual([
      { destination: 'crm', claimed: true },
      { destination: 'marketing', claimed: false },
    ]);
  });

  it('waits longer each time', async () => {
    await newLead();
    await passes('6 minutes');
    expect(await reannouncer.sweep()).toBe(1);
    await passes('12 minutes');
    expect(await reannouncer.sweep()).toBe(0);
    await passes('17 minutes');
    expect(await reannouncer.sweep()).toBe(1);
  });

  it('is left alone while its owner cannot be asked', async () => {
    const eventId = await newLead();
    await passes('6 minutes');
    ownerAnswers = false;
    await expect(reannouncer.sweep()).rejects.toThrow(InternalUnavailable);
    expect(await recordsOf(eventId)).toHaveLength(1);
    ownerAnswers = true;
    expect(await reannouncer.sweep()).toBe(1);
  });

  it('is left alone for good once it is claimed, or dead from the start', async () => {
    const eventId = await newLead();
    owned = [`${eventId} crm`, `${eventId} marketing`];
    await passes('6 minutes');
    expect(await reannouncer.sweep()).toBe(0);
    owned = [];
    await passes('2 days');
    expect(await reannouncer.sweep()).toBe(0);
    const { context } = tools.telemetry.startSpan('test', { kind: 'server' });
    await acceptLeads(tools, [{ submission: submission({ form: 'other', formSlug: 'other' }), trace: context }]);
    await passes('4 days');
    expect(await reannouncer.sweep()).toBe(0);
  });
});
