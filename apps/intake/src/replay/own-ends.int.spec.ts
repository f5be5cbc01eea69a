import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { LeadAcceptedEvent, refusedRecord, unrouted } from '#contracts';
import type { HistoryAnswer, StatesAnswer, UnresolvedAnswer } from '#delivery';
import { type Database, type InternalClient, type InternalServer, internalClient, newEventId, startInternalServer } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, codec, openIntakeDatabase, silent, submission } from '../../test/fixture.js';
import { acceptLeads } from '../accept-leads.js';
import { unresolvedSql } from './own-ends.js';
import { serveOwnEnds } from './own-routes.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

const tokens = { operator: 'operator-token-16chars', reconciler: 'reconciler-token-16chars' };
let database: TestDatabase;
let db: Database;
let owner: pg.Client;
let server: InternalServer;
let operator: InternalClient;
let reconciler: InternalClient;

beforeAll(async () => {
  database = await testDatabase('intake_own_ends');
  db = await openIntakeDatabase(database.url);
  owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  server = await startInternalServer({ host: '127.0.0.1', port: 0, tokens, readiness: [], logger: silent });
  serveOwnEnds(server, { db });
  const clientOf = (token: string) => internalClient({ baseUrl: `http://127.0.0.1:${server.port}`, token, timeoutMs: 10_000 });
  operator = clientOf(tokens.operator);
  reconciler = clientOf(tokens.reconciler);
});
afterAll(async () => {
  for (const client of [operator, reconciler]) await client?.close();
  await server?.stop();
  await owner?.end();
  await db?.close();
  await database?.drop();
});
beforeEach(async () => {
  await owner.query('truncate intake.lead, intake.delivery, intake.rejected');
});

async function accept(form: string): Promise<string> {
  const tools = acceptTools(db);
  const { context } = tools.telemetry.startSpan('test', { kind: 'server' });
  const [answer] = await acceptLeads(tools, [{ submission: submission({ form, formSlug: form }), trace: context }]);
  if (answer?.kind !== 'accepted') throw new Error('not accepted');
  return answer.eventId;
}
/** As the sweep does with what its owner does not know. */
const takeOut = (eventId: string, destination: string) =>
  owner.query(
    `update intake.delivery set state = 'dead', class = 'routing', code = 'unknown_destination', as_of = now() where event_id = $1 and destination = $2`,
    [eventId, destination],
  );
let offset = 0;
async function refuse(failure = 'invalid'): Promise<string> {
  const id = newEventId();
  offset += 1;
  await owner.query(
    `insert into intake.rejected (rejected_id, class, code, errors, topic, partition, record_offset, record_at, rejected_at, key_id, wrapped_key, sealed, delete_after)
     values ($1, $2, 'a_code', '[]', 'leads', 0, $3, now(), now(), 'k1', 'w', 's', now() + interval '90 days')`,
    [id, failure, offset],
  );
  return id;
}
async function unresolved(limit = 500): Promise<UnresolvedAnswer['items']> {
  const items: UnresolvedAnswer['items'] = [];
  let after: string | undefined;
  do {
    const page = await reconciler.post<UnresolvedAnswer>('/internal/v1/deliveries:unresolved', { limit, ...(after && { after }) });
    items.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  return items;
}
const statesOf = async (...names: { event_id: string; destination: string }[]) =>
  (await reconciler.post<StatesAnswer>('/internal/v1/deliveries:state', { items: names })).items.map(
    ({ deliveries }) => deliveries[0]?.state,
  );

describe('what ended at intake itself', () => {
  it('is named with what its letter carries, on every page once: no route, and no such destination any more', async () => {
    const [nowhere, homeless, going] = [await accept('nowhere'), await accept('contact'), await accept('contact')];
    await takeOut(homeless, 'crm');
    await takeOut(homeless, 'marketing');
    const items = await unresolved(1);
    expect(items.map(({ event_id, destination }) => [event_id, destination])).toEqual([
      [nowhere, unrouted],
      [homeless, 'crm'],
      [homeless, 'marketing'],
    ]);
    const { rows } = await owner.query('select lead_ref, submitted_at, deadline_at from intake.lead where event_id = $1', [nowhere]);
    expect(items[0]).toEqual({
      event_id: nowhere,
      destination: unrouted,
      state: 'dead',
      class: 'routing',
      code: 'no_route',
      generation: 1,
      lead_ref: rows[0].lead_ref,
      submitted_at: rows[0].submitted_at.toISOString(),
      deadline_at: rows[0].deadline_at.toISOString(),
      since: expect.stringMatching(/Z$/),
    });
    expect(items[1]).toMatchObject({ class: 'routing', code: 'unknown_destination' });
    expect(items.some(({ event_id }) => event_id === going)).toBe(false);
  });

  it('is named no more once its letter may be deleted, nor what an owner has', async () => {
    const [old, claimed] = [await accept('nowhere'), await accept('contact')];
    await owner.query(`update intake.delivery set as_of = now() - interval '39 days 1 minute' where event_id = $1`, [old]);
    await takeOut(claimed, 'crm');
    await owner.query('update intake.delivery set claimed_at = now() where event_id = $1', [claimed]);
    expect(await unresolved()).toEqual([]);
  });

  it('is read from the first id that is kept on, by the time as it is once', async () => {
    await owner.query(
      `insert into intake.rejected (rejected_id, class, code, errors, topic, partition, record_offset, record_at, rejected_at, key_id, wrapped_key, sealed, delete_after)
       select (lpad(to_hex(n), 12, '0') || '70008000000000000000')::uuid, 'invalid', 'old', '[]', 'leads', 9, n, now(), now() - interval '80 days', 'k1', 'w', 's', now()
       from generate_series(1, 2000) as n`,
    );
    await owner.query('analyze intake.rejected, intake.delivery, intake.lead');
    const plan = await db.sql<{ 'QUERY PLAN': string }>('spec.plan', `explain ${unresolvedSql}`, [
      '00000000-0000-0000-0000-000000000000',
      '',
      100,
    ]);
    const conditions = plan.map((row) => row['QUERY PLAN']).filter((line) => /Index Cond|Filter/.test(line));
    expect(conditions.some((line) => line.includes('Index Cond') && line.includes('GREATEST'))).toBe(true);
    expect(conditions.filter((line) => line.includes('clock_now'))).toEqual([]);
  });

  it('comes with its record, for whoever lacks the letter, and for the operator alone', async () => {
    const eventId = await accept('nowhere');
    const asked = { items: [{ event_id: eventId, destination: unrouted }], records: true };
    const { items } = await operator.post<HistoryAnswer>('/internal/v1/deliveries:history', asked);
    expect(items).toMatchObject([{ event_id: eventId, destination: unrouted, state: 'dead', operations: [], attempts: [] }]);
    expect(await codec.decode(LeadAcceptedEvent, Buffer.from(items[0]?.event ?? '', 'base64'))).toMatchObject({ event_id: eventId });
    const { items: bare } = await operator.post<HistoryAnswer>('/internal/v1/deliveries:history', { ...asked, records: false });
    expect(bare[0]).not.toHaveProperty('event');
    await expect(reconciler.post('/internal/v1/deliveries:history', asked)).rejects.toMatchObject({ status: 403 });
  });

  it('says what became of it: routed, taken up by an owner after all, erased, or kept no more', async () => {
    const [dead, routed, back, erased] = [
      await accept('nowhere'),
      await accept('nowhere'),
      await accept('contact'),
      await accept('nowhere'),
    ];
    await owner.query(`update intake.delivery set destination = 'crm', state = 'accepted', class = null where event_id = $1`, [routed]);
    await takeOut(back, 'crm');
    const known = { event_id: back, destination: 'crm' };
    expect(await statesOf(known)).toEqual(['dead']);
    await owner.query(`update intake.delivery set state = 'delivered', claimed_at = now() where event_id = $1`, [back]);
    await owner.query(`update intake.delivery set state = 'erased' where event_id = $1`, [erased]);
    const names = [dead, routed, erased, newEventId()].map((event_id) => ({ event_id, destination: unrouted }));
    expect(await statesOf(...names, known)).toEqual(['dead', 'delivered', 'erased', undefined, 'delivered']);
  });

  it('is also each refused record that nobody has decided on: by reference, with what its letter carries', async () => {
    const [first, nowhere, second] = [await refuse('decode'), await accept('nowhere'), await refuse('conflict')];
    const items = await unresolved(1);
    expect(items.map(({ event_id, destination, class: failure }) => [event_id, destination, failure])).toEqual([
      [first, refusedRecord, 'decode'],
      [nowhere, unrouted, 'routing'],
      [second, refusedRecord, 'conflict'],
    ]);
    const { rows } = await owner.query('select rejected_at, record_at, delete_after from intake.rejected where rejected_id = $1', [first]);
    expect(items[0]).toEqual({
      event_id: first,
      destination: refusedRecord,
      state: 'dead',
      class: 'decode',
      code: 'a_code',
      generation: 1,
      lead_ref: `rejected:${first}`,
      since: rows[0].rejected_at.toISOString(),
      submitted_at: rows[0].record_at.toISOString(),
      deadline_at: rows[0].delete_after.toISOString(),
    });
    expect(await unresolved()).toEqual(items);
    const { items: states } = await reconciler.post<StatesAnswer>('/internal/v1/deliveries:state', {
      items: [{ event_id: first, destination: refusedRecord }],
    });
    expect(states[0]?.deliveries).toMatchObject([{ state: 'dead', deadline_at: items[0]?.deadline_at }]);
  });

  it('is no refused record that became a lead, was erased, or whose letter may be deleted', async () => {
    const [accepted, erased, old, kept] = [await refuse(), await refuse(), await refuse(), await refuse()];
    await owner.query('update intake.rejected set accepted_as = $1 where rejected_id = $1', [accepted]);
    await owner.query(`update intake.rejected set sealed = '' where rejected_id = $1`, [erased]);
    await owner.query(`update intake.rejected set rejected_at = now() - interval '39 days 1 minute' where rejected_id = $1`, [old]);
    expect((await unresolved()).map(({ event_id }) => event_id)).toEqual([kept]);
  });

  it('says so of refused records, too', async () => {
    const [kept, gone] = [await refuse(), newEventId()];
    const names = [kept, gone].map((event_id) => ({ event_id, destination: refusedRecord }));
    expect(await statesOf(...names)).toEqual(['dead', undefined]);
    await owner.query('update intake.rejected set accepted_as = $1 where rejected_id = $1', [kept]);
    expect(await statesOf(...names)).toEqual(['delivered', undefined]);
  });
});
