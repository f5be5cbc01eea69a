import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { FoundLead, LeadCourse } from '#contracts';
import {
  createLogger,
  type Database,
  type InternalClient,
  type InternalServer,
  internalClient,
  newEventId,
  startInternalServer,
} from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, openIntakeDatabase, site, source, submission } from '../../test/fixture.js';
import { type Acceptance, type AcceptTools, acceptLeads } from '../accept-leads.js';
import { insertRejections } from '../store/insert-rejections.js';
import type { Submission } from '../submission/normalise.js';
import { serveReveal } from '../vault/reveal-routes.js';
import { serveSearch } from './search-routes.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

const traceId = '0af7651916cd43dd8448eb211c80319c';
const trace = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, traceId, spanId: 'b7ad6b7169203331', sampled: true };
const sources = [source(), source({ id: 'other-site', organization: 'other' }), source({ id: 'uk-site', country: 'GB' })];

let database: TestDatabase;
let db: Database;
let tools: AcceptTools;
let server: InternalServer;
let operator: InternalClient;
let stranger: InternalClient;
const logged: string[] = [];

beforeAll(async () => {
  database = await testDatabase('intake-search');
  db = await openIntakeDatabase(database.url);
  tools = acceptTools(db, { site: site({ sources }) });
  const logger = createLogger('intake', 'debug', { write: (line) => logged.push(line) });
  const tokens = { operator: 'operator-token-16chars', notifier: 'notifier-token-16chars' };
  server = await startInternalServer({ host: '127.0.0.1', port: 0, tokens, readiness: [], logger });
  serveSearch(server, { ...tools, db, codec: tools.codec as never });
  serveReveal(server, { ...tools, logger });
  const client = (token: string) => internalClient({ baseUrl: `http://127.0.0.1:${server.port}`, token, timeoutMs: 10_000 });
  [operator, stranger] = [client(tokens.operator), client(tokens.notifier)];
});
afterAll(async () => {
  await Promise.all([operator.close(), stranger.close()]);
  await server.stop();
  await db.close();
  await database.drop();
});
beforeEach(async () => {
  for (const table of ['lead', 'intake_key', 'vault', 'delivery', 'rejected', 'outbox'])
    await db.sql(`spec.clear.${table}`, `delete from ${table}`, []);
});

async function accept(changes: Partial<Submission> = {}): Promise<Extract<Acceptance, { leadRef: string }>> {
  const [answer] = await acceptLeads(tools, [{ submission: submission(changes), trace }]);
  if (answer === undefined || !('leadRef' in answer)) throw new Error('not accepted');
  return answer;
}
const find = async (request: object): Promise<FoundLead[]> =>
  (await operator.post<{ items: FoundLead[] }>('/internal/v1/leads:find', request)).items;
const found = async (request: object): Promise<string[]> => (await find(request)).map(({ event_id }) => event_id);
const course = async (event_id: string): Promise<LeadCourse | null> =>
  (await operator.post<{ course: LeadCourse | null }>('/internal/v1/leads:course', { event_id })).course;

const revisionSql = `insert into vault (lead_ref, revision, key_id, wrapped_key, sealed, email_key, phone_key, delete_after)
  select v.lead_ref, v.revision + 1, v.key_id, v.wrapped_key, v.sealed, v.email_key, v.phone_key, v.delete_after
  from vault v join lead l using (lead_ref) where l.event_id = $1`;

describe('finding a lead', () => {
  it('works by each of its ids, and shows it by names and references alone', async () => {
    const { eventId, leadRef } = await accept({ sourceEventId: 'web-1' });
    await accept({ sourceEventId: 'web-2', contact: { email: 'eve@example.test' } });
    const [lead] = await find({ kind: 'event_ids', values: [eventId] });
    expect(lead).toEqual({
      event_id: eventId,
      lead_ref: leadRef,
      organization: 'demo',
      source: 'website',
      form: 'contact',
      submitted_at: expect.stringMatching(/Z$/),
      test: false,
      state: 'accepted',
    });
    expect(await found({ kind: 'source_event_id', value: 'web-1' })).toEqual([eventId]);
    expect(await found({ kind: 'lead_ref', value: leadRef.toLowerCase() })).toEqual([eventId]);
    const [row] = await db.sql<{ traceparent: string }>('spec.trace', 'select traceparent from lead where event_id = $1', [eventId]);
    expect(await found({ kind: 'trace_id', value: row?.traceparent.split('-')[1]?.toUpperCase() })).toContain(eventId);
  });

  it("shows the newest hundred of a number that is everybody's, and no lead twice", async () => {
    const contact = { phone: '+12025550123' };
    const all: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const leads = Array.from({ length: 50 }, (_, index) => ({
        submission: submission({ sourceEventId: `all-${n}-${index}`, contact }),
        trace,
      }));
      for (const answer of await acceptLeads(tools, leads)) if ('eventId' in answer) all.push(answer.eventId);
    }
    // Another revision of one of them.
    await db.sql('spec.revision', revisionSql, [all.toSorted().at(-1)]);
    expect(all).toHaveLength(150);
    expect(await found({ kind: 'phone', value: contact.phone })).toEqual(all.toSorted().toReversed().slice(0, 100));
  });

  it('reads a typed address by the rules of intake, whatever form it was typed in', async () => {
    const { eventId } = await accept({ contact: { name: 'Ada', email: 'Ada.Example@example.test', phone: '+12025550123' } });
    const { eventId: british } = await accept({ source: 'uk-site', contact: { phone: '+442079460018' } });
    for (const value of ['ada.example@example.test', ' Ada.EXAMPLE@EXAMPLE.test '])
      expect(await found({ kind: 'email', value })).toEqual([eventId]);
    for (const value of ['+1 202 555-0123', '(202) 555 0123']) expect(await found({ kind: 'phone', value })).toEqual([eventId]);
    expect(await found({ kind: 'phone', value: '020 7946 0018' })).toEqual([british]);
    expect(await found({ kind: 'email', value: 'nobody@example.test' })).toEqual([]);
    expect(await found({ kind: 'email', value: 'no address' })).toEqual([]);
    expect(await found({ kind: 'phone', value: 'ring me' })).toEqual([]);
  });

  it('shows every lead of one person, newest first', async () => {
    const first = await accept();
    const second = await accept({ form: 'newsletter', formSlug: 'newsletter' });
    expect(await found({ kind: 'email', value: 'ada@example.test' })).toEqual([second.eventId, first.eventId]);
  });

  it('keeps organizations apart: one that was not asked for has nothing', async () => {
    const { eventId } = await accept({ sourceEventId: 'web-1' });
    const other = await accept({ organization: 'other', source: 'other-site', sourceEventId: 'web-1' });
    expect(await found({ kind: 'email', value: 'ada@example.test', organizations: ['other'] })).toEqual([other.eventId]);
    expect(await found({ kind: 'source_event_id', value: 'web-1', organizations: ['demo'] })).toEqual([eventId]);
    expect((await found({ kind: 'source_event_id', value: 'web-1' })).sort()).toEqual([eventId, other.eventId].sort());
    expect(await found({ kind: 'event_ids', values: [eventId], organizations: ['other'] })).toEqual([]);
    expect(await found({ kind: 'event_ids', values: [eventId], organizations: [] })).toEqual([]);
  });

  it('stores no address: two numbers that cannot be turned back, and none where there is no address', async () => {
    const { eventId } = await accept();
    const [row] = await db.sql<Record<string, unknown>>('spec.lead', 'select * from lead where event_id = $1', [eventId]);
    expect(row).toMatchObject({ email_key: expect.stringMatching(/^-?\d+$/), phone_key: expect.stringMatching(/^-?\d+$/) });
    const { eventId: bare } = await accept({ contact: { name: 'Ada' } });
    const [other] = await db.sql('spec.lead', 'select * from lead where event_id = $1', [bare]);
    expect(other).toMatchObject({ email_key: null, phone_key: null });
  });

  it('names the worst state among the deliveries', async () => {
    const { eventId } = await accept();
    await db.sql('spec.dead', `update delivery set state = case destination when 'crm' then 'delivered' else 'dead' end`, []);
    expect(await find({ kind: 'event_ids', values: [eventId] })).toMatchObject([{ state: 'dead' }]);
  });

  it('is for operator alone', async () => {
    await expect(stranger.post('/internal/v1/leads:find', { kind: 'email', value: 'ada@example.test' })).rejects.toMatchObject({
      status: 403,
    });
    await expect(stranger.post('/internal/v1/vault:reveal', { lead_ref: 'L-1', event_id: newEventId() })).rejects.toMatchObject({
      status: 403,
    });
  });
});

describe('the course of a lead', () => {
  it('tells where its announcement is, what became of it and what is still kept', async () => {
    const { eventId, leadRef } = await accept();
    expect(await course(eventId)).toMatchObject({
      event_id: eventId,
      lead_ref: leadRef,
      owner: 'ada',
      policy: 'default',
      announcement: 'in_outbox',
      vault: { state: 'kept', revision: 1, consent_withdrawn_at: null },
      deliveries: [{ destination: 'crm', state: 'accepted', announcements: 1 }, { destination: 'marketing' }],
      refusals: [],
      supersedes: null,
      superseded_by: [],
    });
    await db.sql('spec.published', 'delete from outbox', []);
    expect(await course(eventId)).toMatchObject({ announcement: 'announced' });
    await db.sql('spec.erased', 'delete from vault', []);
    expect(await course(eventId)).toMatchObject({ vault: { state: 'gone', revision: 0 } });
  });

  it('links what replaced what by the word of the source', async () => {
    const first = await accept({ sourceEventId: 'web-1' });
    const second = await accept({ sourceEventId: 'web-2', supersedes: 'web-1' });
    expect(await course(first.eventId)).toMatchObject({ supersedes: null, superseded_by: [second.eventId] });
    expect(await course(second.eventId)).toMatchObject({ supersedes: first.eventId, superseded_by: [] });
  });

  it('names what was refused under the same submission id, and a refusal by its own id', async () => {
    const { eventId } = await accept({ sourceEventId: 'web-1' });
    const [key] = await db.sql<{ external_ref: string }>('spec.key', 'select external_ref from intake_key where event_id = $1', [eventId]);
    const rejectedId = newEventId();
    await insertRejections(db, [
      {
        rejectedId,
        organization: 'demo',
        source: 'website',
        externalRef: key?.external_ref,
        class: 'conflict',
        code: 'other_content',
        errors: [],
        topic: 'leads',
        partition: 2,
        offset: 9n,
        recordAt: new Date(),
        rejectedAt: new Date(),
        sealed: { keyId: 'k1', wrappedKey: Buffer.from('w'), sealed: Buffer.from('s') },
        outbox: { topic: 'leads.intake.dlq', key: null, value: null, headers: {} },
      },
    ]);
    const refusal = { rejected_id: rejectedId, class: 'conflict', topic: 'leads', partition: 2, offset: '9' };
    expect(await course(eventId)).toMatchObject({ refusals: [refusal] });
    expect(await course(rejectedId)).toMatchObject({ event_id: rejectedId, lead_ref: null, organization: 'demo', refusals: [refusal] });
    expect((await found({ kind: 'source_event_id', value: 'web-1' })).sort()).toEqual([eventId, rejectedId].sort());
    expect(await find({ kind: 'event_ids', values: [rejectedId] })).toMatchObject([{ state: 'rejected' }]);
  });

  it('is nothing for an id that is unknown', async () => {
    expect(await course(newEventId())).toBeNull();
  });
});

describe('the contact of a lead', () => {
  it('leaves the vault masked, and in the clear only through the route for it', async () => {
    const { eventId, leadRef } = await accept();
    const masked = await operator.post('/internal/v1/vault:mask', { lead_ref: leadRef });
    expect(masked).toEqual({ status: 200, revision: 1, masked: { name: 'A…', email: 'a…@example.test', phone: '…23' } });
    const clear = await operator.post('/internal/v1/vault:reveal', { lead_ref: leadRef, event_id: eventId });
    expect(clear).toMatchObject({
      status: 200,
      fields: { name: 'Ada Example', email: 'ada@example.test', message: 'Please call me', custom: {} },
    });
    expect(logged.join('')).toContain('Clear text of a lead handed out');
    expect(logged.join('')).not.toMatch(/ada@|Ada Example|2025550123/);
  });

  it('is gone with the vault', async () => {
    const { eventId, leadRef } = await accept();
    await db.sql('spec.erased', 'delete from vault', []);
    expect(await operator.post('/internal/v1/vault:mask', { lead_ref: leadRef })).toEqual({ status: 410, revision: 0, masked: null });
    expect(await operator.post('/internal/v1/vault:reveal', { lead_ref: leadRef, event_id: eventId })).toMatchObject({
      status: 410,
      fields: null,
    });
  });
});
