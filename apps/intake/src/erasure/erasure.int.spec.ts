import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { headers, type IntakeEraseAnswer, LeadResolvedEvent, type SubjectAnswer } from '#contracts';
import { type Database, type InternalClient, type InternalServer, internalClient, newEventId, startInternalServer } from '#runtime';
import { eventually, type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, codec, openIntakeDatabase, silent, site, source, submission } from '../../test/fixture.js';
import { type AcceptTools, acceptLeads } from '../accept-leads.js';
import { readRecord } from '../kafka/read-record.js';
import { toRejection } from '../kafka/to-rejection.js';
import { insertRejections } from '../store/insert-rejections.js';
import { updateStates } from '../store/update-states.js';
import type { Submission } from '../submission/normalise.js';
import { readVault } from '../vault/read-vault.js';
import { rewrapPage } from '../vault/rewrap-page.js';
import { serveErasure } from './erase-routes.js';
import { findSubject } from './find-subject.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

const tokens = { operator: 'operator-token-16chars', 'crm-writer': 'crm-writer-token-16chars' };
let database: TestDatabase;
let db: Database;
let root: pg.Client;
let tools: AcceptTools;
let server: InternalServer;
let operator: InternalClient;
let writer: InternalClient;
beforeAll(async () => {
  database = await testDatabase('intake_erasure');
  db = await openIntakeDatabase(database.url);
  root = new pg.Client({ connectionString: database.url, options: '-c search_path=intake' });
  await root.connect();
  tools = acceptTools(db, { site: site({ sources: [source(), source({ id: 'shop', organization: 'other' })] }) });
  server = await startInternalServer({ host: '127.0.0.1', port: 0, tokens, readiness: [], logger: silent });
  serveErasure(server, { ...tools, db, codec: codec as never, logger: silent });
  const client = (token: string) => internalClient({ baseUrl: `http://127.0.0.1:${server.port}`, token, timeoutMs: 10_000 });
  operator = client(tokens.operator);
  writer = client(tokens['crm-writer']);
});
afterAll(async () => {
  await Promise.all([operator?.close(), writer?.close()]);
  await server?.stop();
  await root?.end();
  await db?.close();
  await database?.drop();
});
beforeEach(async () => {
  await root.query('truncate lead, intake_key, vault, delivery, rejected, pending_revision, outbox');
});

async function accept(changes: Partial<Submission> = {}) {
  const { context } = tools.telemetry.startSpan('test', { kind: 'server' });
  const lead = submission(changes);
  const [answer] = await acceptLeads(tools, [{ submission: lead, trace: context }]);
  if (answer === undefined || !('leadRef' in answer)) throw new Error('not accepted');
  return { ...answer, lead };
}
/** A record of the topic that is refused, as the consumer stores it. */
async function refuse(contact: { email: string | null }, sourceEventId: string = randomUUID(), eventId?: string): Promise<string> {
  const event = {
    source_event_id: sourceEventId,
    organization: 'demo',
    source: 'website',
    form: null,
    campaign: null,
    submitted_at: new Date(-4.5e15),
    contact: { name: null, phone: null, ...contact },
    message: null,
    consent: { given: true, at: null },
    custom: {},
    supersedes: null,
    test: false,
  };
  const read = readRecord(tools, { ok: true, event });
  if ('submission' in read) throw new Error('not refused');
  const record = {
    topic: 'leads',
    partition: 0,
    offset: BigInt(Math.floor(Math.random() * 1e9)),
    key: null,
    value: Buffer.from('the record'),
    headers: {},
    timestampMs: Date.now(),
  };
  const { context: trace } = tools.telemetry.startSpan('test', { kind: 'server' });
  const rejection = toRejection(tools.ring, record, { refused: { ...read, eventId }, now: new Date(), trace });
  await insertRejections(db, [rejection]);
  return rejection.rejectedId;
}
const find = (query: object) => operator.post<SubjectAnswer>('/internal/v1/erasures:find', query);
const erase = (event_ids: string[], dry_run = false) =>
  operator.post<IntakeEraseAnswer>('/internal/v1/leads:erase', { event_ids, dry_run });
/** As an approved item notes it. */
const became = (refused: string, eventId: string) =>
  root.query('update rejected set event_id = $2, accepted_as = $2 where rejected_id = $1', [refused, eventId]);
const ids = ({ leads }: SubjectAnswer) => leads.map(({ event_id }) => event_id).sort();
const nothing = { vault_revisions: 0, rejected_records: 0, search_keys: 0, pending_revisions: 0, unclaimed: 0 };
/** Their owners have taken all deliveries. */
const claimed = () => root.query('update delivery set claimed_at = now()');

describe('what belongs to a person', () => {
  it('is found by address in any form: every lead and every refused record, in the organizations asked for', async () => {
    const one = await accept();
    const two = await accept({ contact: { email: 'ADA@example.test' } });
    const other = await accept({ organization: 'other', source: 'shop' });
    await accept({ contact: { email: 'eve@example.test' } });
    const refused = await refuse({ email: ' Ada@example.test' });
    const all = await find({ kind: 'email', value: ' ada@EXAMPLE.test' });
    expect(ids(all)).toEqual([one.eventId, two.eventId, other.eventId, refused].sort());
    expect(all.places).toEqual({ vault_revisions: 3, rejected_records: 1, search_keys: 3, pending_revisions: 0, unclaimed: 6 });
    expect(all.more).toBe(false);
    expect(ids(await find({ kind: 'email', value: 'ada@example.test', organizations: ['other'] }))).toEqual([other.eventId]);
    expect(ids(await find({ kind: 'phone', value: '(202) 555-0123', organizations: ['demo'] }))).toEqual([one.eventId]);
    expect(ids(await find({ kind: 'keys', keys: all.keys }))).toEqual(ids(all));
    expect(ids(await find({ kind: 'email', value: 'no address' }))).toEqual([]);
    expect(JSON.stringify(all)).not.toMatch(/ada@|Ada/);
  });

  it('is found for as long as it is kept, also after the lead itself is purged', async () => {
    const { eventId } = await accept();
    await root.query('delete from lead');
    expect(ids(await find({ kind: 'email', value: 'ada@example.test' }))).toEqual([eventId]);
    expect(ids(await find({ kind: 'event_id', value: eventId }))).toEqual([eventId]);
  });

  it('is the whole person only where no other lead of the person is kept', async () => {
    const { eventId } = await accept();
    const whole = async (query: object) => (await find(query)).leads.map(({ whole_person }) => whole_person);
    expect(await whole({ kind: 'event_id', value: eventId })).toEqual([true]);
    await accept({ contact: { email: 'ada@example.test' } });
    expect(await whole({ kind: 'event_id', value: eventId })).toEqual([false]);
    expect(await whole({ kind: 'email', value: 'ada@example.test' })).toEqual([true, true]);
    expect(await whole({ kind: 'phone', value: '+12025550123' })).toEqual([false]);
  });

  it('is also what was refused because its id was used for a lead of somebody else', async () => {
    const eve = await accept({ contact: { email: 'eve@example.test' } });
    const conflict = await refuse({ email: 'ada@example.test' }, randomUUID(), eve.eventId);
    const found = await find({ kind: 'email', value: 'ada@example.test' });
    expect(ids(found)).toEqual([conflict]);
    expect((await erase(ids(found))).places).toEqual(nothing);
    expect((await readVault(tools, [eve.leadRef])).map(({ status }) => status)).toEqual([200]);
  });

  it('is known to destinations by the same key after the lead itself is purged', async () => {
    const { eventId } = await accept();
    const query = { kind: 'event_id', value: eventId };
    const [before] = (await find(query)).leads;
    await root.query('delete from lead');
    expect((await find(query)).leads).toEqual([before]);
    expect(before).toMatchObject({ person_key: expect.stringMatching(/^[0-9a-f]{32}$/), whole_person: true });
    const other = await accept();
    await root.query('delete from lead');
    expect((await find(query)).leads).toMatchObject([{ whole_person: false }]);
    await erase([other.eventId]);
    expect((await find(query)).leads).toMatchObject([{ whole_person: true }]);
  });

  it('is known by half of the key where the payload of a purged lead cannot be opened', async () => {
    const { eventId } = await accept();
    const query = { kind: 'event_id', value: eventId };
    const [before] = (await find(query)).leads;
    await root.query('delete from lead');
    await root.query("update vault set wrapped_key = 'x'");
    const [after] = (await find(query)).leads;
    expect(after).toEqual({ ...before, person_key: before?.person_key?.slice(0, 16) });
  });

  it('is the person of the first address: a corrected one leaves whom destinations know', async () => {
    const { eventId, leadRef } = await accept();
    const whole = async () => (await find({ kind: 'event_id', value: eventId })).leads.map(({ whole_person }) => whole_person);
    const eve = await accept({ contact: { email: 'eve@example.test' } });
    const revised = `insert into vault select lead_ref, 2, key_id, wrapped_key, sealed, delete_after, null, (select email_key from vault
      where lead_ref = $2), phone_key from vault where lead_ref = $1`;
    await root.query(revised, [leadRef, eve.leadRef]);
    await root.query('update lead set email_key = v.email_key from vault v where v.lead_ref = lead.lead_ref and v.revision = 2');
    expect(await whole()).toEqual([true]);
    await accept();
    expect(await whole()).toEqual([false]);
  });

  it('is a refused record and the lead that it became, whichever of the two is asked for', async () => {
    const { eventId } = await accept();
    const refused = await refuse({ email: 'ada@example.test' });
    const other = await refuse({ email: 'eve@example.test' }, randomUUID(), eventId);
    await became(refused, eventId);
    for (const value of [refused, eventId]) {
      expect(ids(await find({ kind: 'event_id', value }))).toEqual([eventId, refused].sort());
      expect(ids(await find({ kind: 'event_id', value, organizations: ['other'] }))).toEqual([]);
    }
    expect(ids(await find({ kind: 'event_id', value: other }))).toEqual([other]);
  });

  it('does not exist for other organizations, and nobody but operator may ask', async () => {
    const { eventId } = await accept();
    const refused = await refuse({ email: 'ada@example.test' });
    expect(ids(await find({ kind: 'event_id', value: eventId, organizations: ['other'] }))).toEqual([]);
    expect(ids(await find({ kind: 'event_id', value: refused, organizations: ['other'] }))).toEqual([]);
    expect(ids(await find({ kind: 'event_id', value: refused }))).toEqual([refused]);
    await expect(writer.post('/internal/v1/leads:erase', { event_ids: [eventId] })).rejects.toMatchObject({ status: 403 });
  });
});

describe('to find a person', () => {
  it('reads the vault, keys and refusals by their indexes alone, however many there are', async () => {
    const { eventId, leadRef } = await accept();
    await root.query(`insert into vault select 'L-' || n, 1, 'k1', '', '', now() + make_interval(mins => n * 10), null,
      case when n % 3 > 0 then n end, case when n % 2 > 0 then n end from generate_series(1, 50000) n`);
    await root.query(`insert into intake_key select 'demo', 'website', 'ref' || n, gen_random_uuid(), 'f',
      now() - interval '400 days' + make_interval(mins => n * 10), 'L-' || n from generate_series(1, 50000) n`);
    await root.query(`insert into rejected (rejected_id, organization, source, class, code, errors, topic, partition, record_offset, record_at,
      key_id, wrapped_key, sealed, rejected_at, delete_after, email_key, phone_key)
      select gen_random_uuid(), 'demo', 'website', 'invalid', 'x', '[]', 'leads', 0, n, now(), 'k1', '', 's', now(), now() + interval '40 days', n, n
      from generate_series(1, 50000) n`);
    for (const table of ['vault', 'intake_key', 'rejected']) await root.query(`vacuum analyze ${table}`);
    const scans: Record<string, string[]> = {};
    const explained = {
      async sql(name: string, text: string, values: unknown[]) {
        const { rows } = await root.query(`explain ${text}`, values);
        const plan = rows.map((row) => String(row['QUERY PLAN']));
        scans[name] = plan.filter((line) => /Seq Scan on (vault|intake_key|rejected)/.test(line));
        return db.sql(name, text, values);
      },
    };
    const found = await findSubject({ ...tools, db: explained as never }, { kind: 'email', value: 'ada@example.test' });
    expect(found.leads).toMatchObject([{ event_id: eventId, lead_ref: leadRef, whole_person: true }]);
    expect(scans).toMatchObject({ 'intake.subject_by_keys': [], 'intake.subject_person': [] });
  });
});

describe('an erasure', () => {
  it('destroys every revision, refused records and search hashes, and leaves what is anybody else’s', async () => {
    const { eventId, leadRef, lead } = await accept();
    const eve = await accept({ contact: { email: 'eve@example.test' } });
    const under = await refuse({ email: null }, lead.sourceEventId);
    const conflict = await refuse({ email: 'ada@example.test' }, randomUUID(), eventId);
    const untouched = await refuse({ email: 'eve@example.test' });
    await claimed();
    expect((await erase([eventId], true)).places).toEqual({
      vault_revisions: 1,
      rejected_records: 2,
      search_keys: 1,
      pending_revisions: 0,
      unclaimed: 0,
    });
    expect((await erase([eventId])).places).toEqual(nothing);
    expect((await readVault(tools, [leadRef, eve.leadRef])).map(({ status }) => status)).toEqual([410, 200]);
    const { rows } = await root.query('select rejected_id, length(sealed) as size, email_key from rejected order by rejected_id');
    expect(rows.filter(({ size }) => size > 0).map(({ rejected_id }) => rejected_id)).toEqual([untouched]);
    expect(rows.map(({ rejected_id }) => rejected_id).sort()).toEqual([under, conflict, untouched].sort());
    const { rows: hashes } = await root.query('select email_key, phone_key, length(record_key) as key from lead where event_id = $1', [
      eventId,
    ]);
    expect(hashes).toEqual([{ email_key: null, phone_key: null, key: 0 }]);
    expect(ids(await find({ kind: 'email', value: 'ada@example.test' }))).toEqual([]);
    expect((await erase([eventId])).places).toEqual(nothing);
  });

  it('of a refused record names the lead that it becomes at this moment, which goes when it is asked for as well', async () => {
    const { eventId, leadRef } = await accept();
    const refused = await refuse({ email: 'ada@example.test' });
    await claimed();
    const item = new pg.Client({ connectionString: database.url, options: '-c search_path=intake' });
    await item.connect();
    await item.query('begin');
    await item.query('update rejected set event_id = $2, accepted_as = $2 where rejected_id = $1', [refused, eventId]);
    const asked = erase([refused]);
    await eventually('the erasure waits for the item', async () => {
      const { rows } = await root.query("select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()");
      return rows.length > 0;
    });
    await item.query('commit');
    await item.end();
    const named = (await find({ kind: 'event_id', value: eventId })).leads.filter(({ event_id }) => event_id === eventId);
    expect(named).toMatchObject([{ person_key: expect.any(String), whole_person: true }]);
    expect(await asked).toEqual({ places: nothing, leads: named });
    expect((await root.query("select 1 from rejected where sealed <> ''")).rows).toEqual([]);
    // Whoever asked may die before it has noted the lead.
    expect((await erase([refused])).leads).toEqual(named);
    expect(await erase([refused, eventId])).toEqual({ places: nothing, leads: [] });
    expect((await readVault(tools, [leadRef])).map(({ status }) => status)).toEqual([410]);
  });

  it('answers a late repeat as a repeat, with whatever content, and keeps nothing of it', async () => {
    const { eventId, leadRef, lead } = await accept();
    await erase([eventId]);
    const again = { kind: 'replayed', eventId, leadRef };
    const { context: trace } = tools.telemetry.startSpan('test', { kind: 'server' });
    const answers = await acceptLeads(
      tools,
      [lead, { ...lead, message: 'Other' }, { ...lead, consent: { given: false } }].map((one) => ({ submission: one, trace })),
    );
    expect(answers).toEqual([again, again, again]);
    expect((await root.query('select 1 from vault')).rows).toEqual([]);
    expect((await root.query('select 1 from lead')).rows).toHaveLength(1);
    expect((await root.query('select fingerprint from intake_key')).rows).toEqual([{ fingerprint: 'erased' }]);
  });

  it('does not take a record of the topic back that is read again', async () => {
    const refused = await refuse({ email: 'ada@example.test' });
    await erase([refused]);
    const { rows } = await root.query('select * from rejected');
    const place = {
      topic: rows[0].topic,
      partition: rows[0].partition,
      offset: BigInt(rows[0].record_offset),
      recordAt: rows[0].record_at,
    };
    await insertRejections(db, [
      {
        ...place,
        rejectedId: randomUUID(),
        class: 'invalid',
        code: 'x',
        errors: [],
        rejectedAt: new Date(),
        sealed: { keyId: 'k1', wrappedKey: Buffer.from('w'), sealed: Buffer.from('s') },
        outbox: { topic: 'leads.intake.dlq', key: null, value: null, headers: {} },
      },
    ]);
    expect((await root.query('select rejected_id, length(sealed) as size from rejected')).rows).toEqual([
      { rejected_id: refused, size: 0 },
    ]);
    expect(await rewrapPage(tools, 'rejected', null)).toMatchObject({ looked: 0, unreadable: {} });
  });

  it('is not over while nobody has taken what was announced of it: that carries the key of the person', async () => {
    const { eventId } = await accept();
    expect((await erase([eventId])).places).toEqual({ ...nothing, unclaimed: 2 });
    // Its owner finds nothing in the vault, ends it and says so.
    await updateStates(db, [
      { eventId, destination: 'crm', state: 'erased', class: null, code: null, generation: 1, operations: [], resolvedAt: new Date() },
    ]);
    expect((await erase([eventId])).places).toEqual({ ...nothing, unclaimed: 1 });
    await claimed();
    expect((await erase([eventId])).places).toEqual(nothing);
  });

  it('ends a lead without a route as erased and announces that once', async () => {
    const { eventId } = await accept({ form: 'nowhere', formSlug: 'nowhere' });
    await root.query('truncate outbox');
    await erase([eventId]);
    await erase([eventId]);
    const { rows } = await root.query('select state from delivery');
    expect(rows).toEqual([{ state: 'erased' }]);
    const { rows: announced } = await root.query('select topic, value, headers from outbox');
    expect(announced).toMatchObject([{ topic: 'lead.resolved', headers: { [headers.eventId]: eventId } }]);
    expect(await codec.decode(LeadResolvedEvent, announced[0].value)).toMatchObject({
      event_id: eventId,
      outcome: 'erased',
      error_class: null,
    });
  });

  it('of an id that nobody knows changes nothing', async () => {
    await accept();
    expect((await erase([newEventId()])).places).toEqual(nothing);
    expect((await root.query('select 1 from vault')).rows).toHaveLength(1);
  });
});

it('keys of refused records are made by the rules of intake, and cannot be read back', async () => {
  await refuse({ email: 'Ada@Example.test' });
  const { rows } = await root.query('select email_key, phone_key from rejected');
  expect(rows[0].phone_key).toBeNull();
  expect(String(rows[0].email_key)).not.toBe(createHash('sha256').update('ada@example.test').digest('hex'));
  expect(rows[0].email_key).toMatch(/^-?\d+$/);
});
