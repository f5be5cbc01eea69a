import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { z } from 'zod';
import { headers, operationKey } from '#contracts';
import {
  type Balance,
  type BalanceSources,
  balanceSources,
  deliveryDdl,
  recoveryDdl,
  statesRequest,
  statesRoute,
  takeBalance,
} from '#delivery';
import { type Database, type InternalServer, internalClient, migrateService, openDatabase, startInternalServer } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, openIntakeDatabase, silent, submission } from '../../test/fixture.js';
import { acceptLeads } from '../accept-leads.js';
import { serveReceived } from '../received/received-route.js';
import { serveBalance } from './balance-routes.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

class CreateOwner1764374400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const ddl of [deliveryDdl, recoveryDdl]) await runner.query(ddl);
  }

  async down(): Promise<void> {}
}

const token = 'reconciler-token-16chars';
const servers: InternalServer[] = [];
let database: TestDatabase;
let db: Database;
let owners: Database;
let root: pg.Client;
let sources: BalanceSources;
let blocked: string[] = [];

beforeAll(async () => {
  database = await testDatabase('intake_balance');
  db = await openIntakeDatabase(database.url);
  await migrateService({ url: database.url, service: 'crm-writer', migrations: [CreateOwner1764374400000] });
  owners = await openDatabase({ url: database.url, role: 'ld_crm_writer', schema: 'crm_writer', applicationName: 'balance-test' });
  root = new pg.Client({ connectionString: database.url });
  await root.connect();
  const serve = async (routes: (server: InternalServer) => void) => {
    const server = await startInternalServer({ host: '127.0.0.1', port: 0, tokens: { reconciler: token }, readiness: [], logger: silent });
    servers.push(server);
    routes(server);
    return internalClient({ baseUrl: `http://127.0.0.1:${server.port}`, token, timeoutMs: 10_000 });
  };
  const intake = await serve((server) => {
    serveBalance(server, { db });
    serveReceived(server, { db });
  });
  const owner = await serve((server) => {
    server.route('/internal/v1/deliveries:state', { callers: ['reconciler'], body: statesRequest }, statesRoute(owners));
    server.route('/internal/v1/destinations:state', { callers: ['reconciler'], body: z.object({}) }, async () => ({
      items: blocked.map((destination) => ({ destination, mode: 'blocked' })),
    }));
  });
  sources = balanceSources({ intake, owner });
});
afterAll(async () => {
  for (const server of servers) await server.stop();
  await root?.end();
  await owners?.close();
  await db?.close();
  await database?.drop();
});
beforeEach(async () => {
  blocked = [];
  await root.query(
    'truncate intake.received, intake.delivery, intake.lead, intake.outbox, intake.outbox_parked, intake.destination_pause, crm_writer.delivery, crm_writer.operation',
  );
  await passes('0 seconds');
});

/** Lets intake's clock run ahead. */
const passes = (time: string) =>
  root.query(
    `create or replace function intake.clock_now() returns timestamptz language sql volatile as $$select clock_timestamp() + interval '${time}'$$`,
  );
const take = (): Promise<Balance> => takeBalance(sources, { pauseMs: 1 });

async function accept(count = 1, changes: Parameters<typeof submission>[0] = {}): Promise<string[]> {
  const tools = acceptTools(db);
  const { context } = tools.telemetry.startSpan('test', { kind: 'server' });
  const answers = await acceptLeads(
    tools,
    Array.from({ length: count }, () => ({ submission: submission(changes), trace: context })),
  );
  return answers.map((answer) => {
    if (answer.kind !== 'accepted') throw new Error('not accepted');
    return answer.eventId;
  });
}
/** The owner claims and delivers, with two operations each. */
async function claim(eventId: string, destination: string, state = 'delivered'): Promise<void> {
  const keys = ['contact', 'lead'].map((kind) => operationKey(eventId, destination, kind));
  await root.query(
    `insert into crm_writer.delivery (event_id, destination, state, submitted_at, deadline_at, claimed_at, updated_at, test, lead_ref, operation_keys, event)
     values ($1, $2, $3, now(), now(), now(), now(), false, 'L-1', $4, '')`,
    [eventId, destination, state, keys],
  );
  await root.query(
    `insert into crm_writer.operation (operation_key, event_id, destination, kind, state, updated_at)
     select key, $1, $2, split_part(key, ':', 3), 'succeeded', now() from unnest($3::text[]) as key`,
    [eventId, destination, keys],
  );
}
/** The relay has published everything. */
const publish = () => root.query('delete from intake.outbox');

describe('the balance of real tables', () => {
  it('finds each delivery in one place', async () => {
    const [done = '', half = ''] = await accept(3);
    await accept(1, { form: 'other', formSlug: 'other' });
    await claim(done, 'crm');
    await claim(done, 'marketing', 'dead');
    await claim(half, 'crm', 'waiting');
    expect(await take()).toEqual({
      balanced: true,
      at: expect.stringMatching(/Z$/),
      accepted: 7,
      found: { delivered: 1, dead: 2, waiting: 1 },
      outbox: 3,
      parked: 0,
      unclaimed_young: 0,
      unclaimed_held: 0,
      missing: [],
      incomplete: [],
      received: { received: 4, accepted: 4, repeats: 0, conflicts: 0, rejected: 0, differences: [] },
    });
  });

  it('goes through several pages without losing or doubling one', async () => {
    const ids = [...(await accept(256)), ...(await accept(256)), ...(await accept(256))];
    await publish();
    const { accepted, unclaimed_young: young } = await take();
    expect([accepted, young]).toEqual([ids.length * 2, ids.length * 2]);
  });

  it('names a delivery that vanished with its operations, and one that lost an operation', async () => {
    const [gone = '', partial = ''] = await accept(2, { form: 'newsletter', formSlug: 'newsletter' });
    await claim(gone, 'marketing');
    await claim(partial, 'marketing');
    await publish();
    await root.query(`update intake.delivery set state = 'delivered', claimed_at = now()`);
    expect(await take()).toMatchObject({ balanced: true, found: { delivered: 2 } });
    await root.query('delete from crm_writer.delivery where event_id = $1', [gone]);
    await root.query('delete from crm_writer.operation where event_id = $1', [gone]);
    await root.query('delete from crm_writer.operation where operation_key = $1', [operationKey(partial, 'marketing', 'lead')]);
    expect(await take()).toMatchObject({
      balanced: false,
      found: {},
      missing: [{ event_id: gone, destination: 'marketing' }],
      incomplete: [{ event_id: partial, destination: 'marketing' }],
    });
  });

  it('calls a delivery missing that nobody claimed for five minutes, unless its destination was paused lately', async () => {
    const [eventId = ''] = await accept(1, { form: 'newsletter', formSlug: 'newsletter' });
    await publish();
    expect(await take()).toMatchObject({ unclaimed_young: 1 });
    await passes('5 minutes 31 seconds');
    expect(await take()).toMatchObject({ balanced: false, missing: [{ event_id: eventId, destination: 'marketing' }] });
    blocked = ['marketing'];
    expect(await take()).toMatchObject({ balanced: true, unclaimed_held: 1 });
    blocked = [];
    await root.query(`insert into intake.destination_pause values ('marketing', clock_timestamp() + interval '2 minutes')`);
    expect(await take()).toMatchObject({ balanced: true, unclaimed_young: 1 });
    await root.query(
      `update intake.destination_pause set paused_at = '-infinity', unread_since = clock_timestamp(), read_at = intake.clock_now()`,
    );
    expect(await take()).toMatchObject({ balanced: true, unclaimed_young: 1 });
    await root.query(`update intake.destination_pause set unread_since = clock_timestamp() + interval '2 minutes'`);
    expect(await take()).toMatchObject({ balanced: false });
  });

  it('tells a record that waits from one that cannot be sent, by the destinations it names', async () => {
    const [eventId = ''] = await accept();
    await passes('6 minutes');
    expect(await take()).toMatchObject({ balanced: true, outbox: 2 });
    const { rows } = await root.query(
      `with gone as (delete from intake.outbox returning *) insert into intake.outbox_parked (id, topic, key, value, headers, created_at, parked_reason)
       select id, topic, key, value, json_build_object('${headers.eventId}', $1::text, '${headers.destinations}', 'crm'), created_at, 'too large' from gone
       returning id`,
      [eventId],
    );
    expect(rows).toHaveLength(1);
    expect(await take()).toMatchObject({ balanced: false, parked: 1, missing: [{ event_id: eventId, destination: 'marketing' }] });
  });

  it('looks 8 days back and no further, and not at what is accepted later', async () => {
    await accept(1, { form: 'newsletter', formSlug: 'newsletter' });
    await publish();
    await passes('8 days 1 minute');
    await accept(2, { form: 'newsletter', formSlug: 'newsletter' });
    expect((await sources.accepted({})).items).toHaveLength(2);
    await passes('7 days 23 hours 59 minutes');
    expect((await sources.accepted({})).items).toHaveLength(1);
    const { to } = await sources.accepted({});
    expect((await sources.accepted({ to })).to).toBe(to);
  });
});
