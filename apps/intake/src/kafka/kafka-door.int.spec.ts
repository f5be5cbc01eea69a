import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { headers, type LeadResolved, LeadResolvedEvent, type LeadSubmitted, LeadSubmittedEvent } from '#contracts';
import { type AdminPort, createKafka, type KafkaPort, type ProducerPort } from '#messaging';
import { type Database, metrics, newEventId, unseal } from '#runtime';
import { eventually, type TestDatabase, testDatabase, testInfra, uniqueName } from '#testkit';
import { acceptTools, codec, openIntakeDatabase, silent, site, source } from '../../test/fixture.js';
import { type Doors, startDoors } from '../../test/start-doors.js';
import type { AcceptTools } from '../accept-leads.js';

const keyHash = `sha256:${createHash('sha256').update('key-one').digest('hex')}`;
const leads = { topic: uniqueName('leads'), group: uniqueName('intake') };
const resolved = { topic: uniqueName('lead.resolved'), group: uniqueName('intake.states') };

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

let database: TestDatabase;
let db: Database;
let owner: pg.Client;
let kafka: KafkaPort;
let admin: AdminPort;
let producer: ProducerPort;
let tools: AcceptTools;
let doors: Doors;

beforeAll(async () => {
  database = await testDatabase('intake_kafka');
  db = await openIntakeDatabase(database.url);
  owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  kafka = createKafka({ brokers: testInfra().kafkaBrokers.split(','), clientId: 'intake-spec', logger: silent });
  admin = await kafka.admin();
  producer = await kafka.producer();
  await admin.createTopics([leads, resolved].map(({ topic }) => ({ topic, partitions: 1, replication: 1 })));
  tools = acceptTools(db, {
    site: site({ sources: [source({ keyHashes: [keyHash] }), source({ id: 'partner-feed', trustedTrace: false })] }),
  });
  doors = await startDoors({ db, tools, logger: silent, kafka: { port: kafka, leads, resolved } });
});
afterAll(async () => {
  await doors?.app.close();
  await kafka?.close();
  await owner?.end();
  await db?.close();
  await database?.drop();
});

const submitted = (changes: Partial<LeadSubmitted> = {}): LeadSubmitted => ({
  source_event_id: `feed-${randomBytes(8).toString('hex')}`,
  organization: 'demo',
  source: 'website',
  form: 'contact',
  campaign: 'autumn',
  submitted_at: new Date(Date.now() - 1_000),
  contact: { name: 'Ada Example', email: 'ada@example.test', phone: '+12025550123' },
  message: 'Please call me',
  consent: { given: true, at: null },
  custom: {},
  supersedes: null,
  test: false,
  ...changes,
});
const encoded = (lead: LeadSubmitted) => codec.encode(LeadSubmittedEvent, lead);
let sent = 0n;
/** Sends values to `leads` in order; a key and headers are not asked for. */
async function send(...values: (Buffer | null)[]): Promise<void> {
  await producer.send(values.map((value) => ({ topic: leads.topic, key: null, value })));
  sent += BigInt(values.length);
}
const committed = async () => (await admin.groupOffsets(leads.group, [leads.topic]))[0]?.offset ?? 0n;
const allCommitted = () => eventually('every record committed', async () => (await committed()) === sent);

async function journeyOf(sourceEventId: string) {
  const response = await fetch(`${doors.url}/v1/leads?source_event_id=${encodeURIComponent(sourceEventId)}`, {
    headers: { authorization: 'Bearer key-one' },
  });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}
const reject = async (where: string, ...values: unknown[]) =>
  (await owner.query(`select * from intake.rejected where ${where} order by record_offset`, values)).rows;

describe('the topic leads', () => {
  it('is accepted like HTTP, and the two know each other’s leads', async () => {
    const lead = submitted();
    await send(encoded(lead));
    await allCommitted();
    const journey = await journeyOf(lead.source_event_id);
    expect(journey.json).toMatchObject({ status: 'accepted', submitted_at: lead.submitted_at.toISOString() });
    const response = await fetch(`${doors.url}/v1/leads`, {
      method: 'POST',
      headers: { authorization: 'Bearer key-one', 'content-type': 'application/json' },
      body: JSON.stringify({
        source_event_id: lead.source_event_id,
        form: 'Contact',
        campaign: 'autumn',
        contact: { name: ' Ada Example', email: 'ada@EXAMPLE.test', phone: '(202) 555-0123' },
        message: lead.message,
        consent: { given: true },
      }),
    });
    expect(response.status).toBe(202);
    expect(response.headers.get('idempotency-replayed')).toBe('true');
    expect(await response.json()).toMatchObject({ event_id: journey.json.event_id });
  });

  it('withdraws the consent of a lead that comes again without it, which is no conflict', async () => {
    const lead = submitted();
    await send(encoded(lead), encoded({ ...lead, consent: { given: false, at: null } }));
    await allCommitted();
    const journey = await journeyOf(lead.source_event_id);
    expect(journey.json).toMatchObject({ status: 'accepted', refusals: [] });
    const vault = await owner.query('select consent_withdrawn_at from intake.vault where lead_ref = $1', [journey.json.lead_ref]);
    expect(vault.rows).toEqual([{ consent_withdrawn_at: expect.any(Date) }]);
  });

  it('counts what it refuses, but no test lead', async () => {
    const counted = async () => {
      const { values } = await metrics.intakeRejected.get();
      return values.reduce((sum, { value }) => sum + value, 0);
    };
    const before = await counted();
    const contact = { name: null, email: 'not an address', phone: null };
    await send(
      encoded(submitted({ contact, test: true })),
      encoded(submitted({ source: 'nobody', test: true })),
      encoded(submitted({ contact })),
    );
    await allCommitted();
    expect(await counted()).toBe(before + 1);
  });

  it('passes poison on by reference and delivers its neighbours', async () => {
    const good = Array.from({ length: 6 }, () => submitted());
    const [a, b, c, d, e, f] = good.map(encoded) as [Buffer, Buffer, Buffer, Buffer, Buffer, Buffer];
    const unknownSchema = Buffer.from(a);
    unknownSchema.writeInt32BE(999_999, 1);
    const invalid = submitted({ contact: { name: 'Quince Zebra', email: 'not an address', phone: null } });
    const from = sent;
    await send(a, b, Buffer.from([0]), c, null, d, unknownSchema, e, encoded(invalid), f);
    await allCommitted();

    for (const lead of good) expect((await journeyOf(lead.source_event_id)).json).toMatchObject({ status: 'accepted', refusals: [] });
    const refused = await reject('record_offset >= $1 and record_offset < $2', from, sent);
    expect(refused.map(({ class: kind, code }) => `${kind} ${code}`)).toEqual([
      'decode not_avro',
      'decode tombstone',
      'decode unknown_schema',
      'invalid invalid_fields',
    ]);
    expect((await journeyOf(invalid.source_event_id)).json).toMatchObject({
      status: 'rejected',
      lead_ref: null,
      refusals: [{ class: 'invalid', errors: [{ field: 'contact.email' }] }],
    });
    const sealed = refused[3];
    const opened = unseal(
      tools.ring,
      { keyId: sealed.key_id, wrappedKey: sealed.wrapped_key, sealed: sealed.sealed },
      `rejected:${sealed.rejected_id}`,
    );
    expect(JSON.parse(opened.toString())).toMatchObject({ key: null, value: encoded(invalid).toString('base64') });

    const references = refused.map((row) => `rejected:${row.rejected_id}`);
    const { rows: announced } = await owner.query(
      `select topic, key, value, headers from intake.outbox where headers ->> '${headers.errorRef}' = any($1) order by id`,
      [references],
    );
    expect(announced.map((row) => row.headers[headers.errorClass])).toEqual(['decode', 'decode', 'decode', 'invalid']);
    for (const row of announced) expect(row).toMatchObject({ topic: 'leads.intake.dlq', key: null, value: null });
    const everything = JSON.stringify([refused.map(({ sealed: _, ...row }) => row), announced]);
    expect(everything).not.toMatch(/quince|zebra|not an address/i);
  });

  it.each([
    ['a NUL', { message: 'A\u0000b' }, 'message'],
    ['more than a field may hold', { campaign: 'x'.repeat(100_000) }, 'campaign'],
  ])('refuses the one lead of 256 in one request that has %s, and accepts the others', async (_what, changes, field) => {
    const all = Array.from({ length: 256 }, (_, at) => submitted(at === 137 ? changes : {}));
    const from = sent;
    await send(...all.map(encoded));
    await allCommitted();
    const refused = await reject('record_offset >= $1', from);
    expect(refused.map(({ record_offset: offset, errors }) => [BigInt(offset) - from, errors[0].field])).toEqual([[137n, field]]);
    const found = await Promise.all(all.map(({ source_event_id: id }) => journeyOf(id)));
    expect(found.flatMap(({ json }, at) => (json.status === 'accepted' ? [] : [[at, json.status]]))).toEqual([[137, 'rejected']]);
  });

  it('refuses a source that is not configured, whatever it calls itself', async () => {
    const from = sent;
    await send(
      encoded(submitted({ source: 'stranger' })),
      encoded(submitted({ organization: 'other' })),
      encoded(submitted({ source: '' })),
    );
    await allCommitted();
    const refused = await reject('record_offset >= $1', from);
    expect(refused.map(({ class: kind, source: name, organization }) => [kind, name, organization])).toEqual(
      Array.from({ length: 3 }, () => ['unknown_source', null, null]),
    );
  });

  it('refuses other content under a used id, and keeps the lead', async () => {
    const lead = submitted();
    await send(encoded(lead), encoded(lead), encoded({ ...lead, message: 'Other' }));
    await allCommitted();
    const { json } = await journeyOf(lead.source_event_id);
    expect(json).toMatchObject({ status: 'accepted', refusals: [{ class: 'conflict' }] });
    const byEventId = await fetch(`${doors.url}/v1/leads/${String(json.event_id)}`, { headers: { authorization: 'Bearer key-one' } });
    expect(await byEventId.json()).toEqual(json);
    const [refused] = await reject('event_id = $1', json.event_id);
    expect(refused).toMatchObject({ class: 'conflict', code: 'idempotency_conflict', source: 'website' });
  });

  it('tells of what was refused under an id before its lead was accepted, by either id', async () => {
    const lead = submitted();
    await send(encoded({ ...lead, message: 'A\u0000b' }), encoded(lead));
    await allCommitted();
    const { json } = await journeyOf(lead.source_event_id);
    expect(json).toMatchObject({ status: 'accepted', refusals: [{ class: 'invalid' }] });
    const byEventId = await fetch(`${doors.url}/v1/leads/${String(json.event_id)}`, { headers: { authorization: 'Bearer key-one' } });
    expect(await byEventId.json()).toEqual(json);
  });

  it('case 12: refuses hostile values by name, without being stopped', async () => {
    const from = sent;
    const hostile = [
      submitted({ message: 'A\u0000b' }),
      submitted({ submitted_at: new Date(4.5e15) }),
      submitted({ submitted_at: new Date(-4.5e15), consent: { given: true, at: new Date(4.5e15) } }),
      submitted({ source_event_id: '' }),
      submitted({ custom: { ['__proto__']: 'x', a: 'b' } as Record<string, string> }),
    ];
    const good = submitted({ custom: { id: '9223372036854775807' } });
    await send(...hostile.map(encoded), encoded(good));
    await allCommitted();
    expect((await journeyOf(good.source_event_id)).json).toMatchObject({ status: 'accepted' });
    const refused = await reject('record_offset >= $1', from);
    expect(refused.map((row) => row.errors.map(({ field }: { field: string }) => field))).toEqual([
      ['message'],
      ['submitted_at'],
      ['submitted_at', 'consent.at'],
      ['source_event_id'],
      ['custom.__proto__'],
    ]);
  });

  it('continues the trace of a trusted source and begins one for another', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const trusted = submitted();
    const other = submitted({ source: 'partner-feed' });
    await producer.send(
      [trusted, other].map((lead) => ({ topic: leads.topic, key: Buffer.alloc(0), value: encoded(lead), headers: { traceparent } })),
    );
    sent += 2n;
    await allCommitted();
    const { rows } = await owner.query(
      `select source, traceparent from intake.lead where submitted_at = any($1) and source = any($2) order by source desc`,
      [
        [trusted.submitted_at, other.submitted_at],
        ['website', 'partner-feed'],
      ],
    );
    const traceOf = (name: string) => rows.filter((row) => row.source === name).map((row) => row.traceparent.slice(3, 35));
    expect(traceOf('website')).toContain('0af7651916cd43dd8448eb211c80319c');
    expect(traceOf('partner-feed')).not.toContain('0af7651916cd43dd8448eb211c80319c');
  });

  it('waits for PostgreSQL: pauses, advances nothing, loses nothing', async () => {
    const before = await committed();
    const many = Array.from({ length: 20 }, () => submitted());
    await owner.query('begin; lock table intake.lead in access exclusive mode');
    await send(...many.map(encoded));
    await eventually('the group to pause', () => doors.strategy?.consumer(leads.group).paused().includes('database'), {
      timeoutMs: 20_000,
    });
    expect(await committed()).toBe(before);
    await owner.query('rollback');
    await allCommitted();
    expect(doors.strategy?.consumer(leads.group).paused()).toEqual([]);
    for (const lead of many) expect((await journeyOf(lead.source_event_id)).json).toMatchObject({ status: 'accepted' });
  });
});

describe('the topic lead.resolved', () => {
  it('brings the last known state up to date, past what cannot be read', async () => {
    const lead = submitted();
    await send(encoded(lead));
    await allCommitted();
    const { json } = await journeyOf(lead.source_event_id);
    const event: LeadResolved = {
      resolution_id: newEventId(),
      event_type: 'lead.resolved',
      version: 1,
      event_id: String(json.event_id),
      lead_ref: String(json.lead_ref),
      organization: 'demo',
      source: 'website',
      form: 'contact',
      campaign: 'autumn',
      destination: 'crm',
      primary: true,
      generation: 1,
      outcome: 'delivered',
      error_class: null,
      error_code: null,
      operations: [{ operation_key: 'k', kind: 'lead', state: 'succeeded', ref: 'r-1', attempts: 1 }],
      submitted_at: new Date(),
      accepted_at: new Date(),
      resolved_at: new Date(),
      test: false,
    };
    const values = [
      Buffer.from('not avro'),
      null,
      codec.encode(LeadResolvedEvent, { ...event, event_id: 'none' }),
      codec.encode(LeadResolvedEvent, event),
    ];
    await producer.send(values.map((value) => ({ topic: resolved.topic, key: null, value })));
    const known = await eventually('the state to arrive', async () => {
      const { deliveries } = (await journeyOf(lead.source_event_id)).json as { deliveries: { destination: string; state: string }[] };
      return deliveries.find(({ destination, state }) => destination === 'crm' && state === 'delivered');
    });
    expect(known).toMatchObject({ operations: [{ kind: 'lead', state: 'succeeded', ref: 'r-1' }], as_of: event.resolved_at.toISOString() });
  });
});
