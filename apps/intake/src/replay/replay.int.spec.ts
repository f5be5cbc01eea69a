import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { JWK } from 'jose';
import pg from 'pg';
import { headers, LeadAcceptedEvent, type LeadSubmitted, LeadSubmittedEvent, refusedRecord, unrouted } from '#contracts';
import { openReplayGate, type Permit, signPermit } from '#delivery';
import { type AdminPort, createKafka, type KafkaPort, type ProducerPort } from '#messaging';
import { type Database, InternalUnavailable, type Site } from '#runtime';
import { eventually, type TestDatabase, testDatabase, testInfra, uniqueName } from '#testkit';
import { acceptTools, codec, openIntakeDatabase, silent, site, source, submission } from '../../test/fixture.js';
import { type Doors, startDoors } from '../../test/start-doors.js';
import { type Acceptance, type AcceptTools, acceptLeads } from '../accept-leads.js';
import { DatabaseClock } from '../database-clock.js';
import { eraseLeads } from '../erasure/erase-leads.js';
import { decideAgain } from './decide-again.js';
import { closeItems, itemStates } from './item-states.js';
import { lookUpItems, replayFacts } from './replay-facts.js';
import { ReplayedItems } from './replayed-items.js';

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const asJwk = (key: typeof privateKey): JWK => ({ ...(key.export({ format: 'jwk' }) as JWK), kid: 'p1' });
const secretsDir = mkdtempSync(join(tmpdir(), 'intake-replay-'));
writeFileSync(join(secretsDir, 'permit-public.json'), JSON.stringify({ keys: [asJwk(publicKey)] }));

const leads = { topic: uniqueName('leads'), group: uniqueName('intake') };
const resolved = { topic: uniqueName('lead.resolved'), group: uniqueName('intake.states') };
const replayTopic = `${leads.topic}.replay`;
const [batchId, later] = [randomUUID(), randomUUID()];

/** What the operator says of its batches; undefined: it is away. */
let batch: 'running' | 'paused' | undefined;
let open: string[];
let questions = 0;
const operator = {
  post: async <T>(): Promise<T> => {
    questions += 1;
    if (batch === undefined) throw new InternalUnavailable('away');
    return { as_of: new Date().toISOString(), items: open.map((batch_id) => ({ batch_id, state: batch })) } as T;
  },
};
let database: TestDatabase;
let db: Database;
let owner: pg.Client;
let kafka: KafkaPort;
let admin: AdminPort;
let producer: ProducerPort;
let tools: AcceptTools;
let doors: Doors;
/** Rules and sources of the running intake: a test changes them as a new site file would. */
let now: Site;

beforeAll(async () => {
  database = await testDatabase('intake_replay');
  db = await openIntakeDatabase(database.url);
  owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  kafka = createKafka({ brokers: testInfra().kafkaBrokers.split(','), clientId: 'replay-spec', logger: silent });
  admin = await kafka.admin();
  producer = await kafka.producer();
  await admin.createTopics([leads.topic, resolved.topic, replayTopic].map((topic) => ({ topic, partitions: 1, replication: 1 })));
  now = site();
  tools = acceptTools(db, { site: now });
  const gate = openReplayGate({ secretsDir, operator, logger: silent });
  doors = await startDoors({
    db,
    tools,
    logger: silent,
    kafka: { port: kafka, leads, resolved, replay: { topic: replayTopic, gate } },
  });
});
afterAll(async () => {
  await doors?.app.close();
  await kafka?.close();
  await owner?.end();
  await db?.close();
  await database?.drop();
});
beforeEach(() => {
  batch = 'running';
  open = [batchId];
  Object.assign(now, site());
});

const rows = async (text: string, values: unknown[] = []) => (await owner.query(text, values)).rows;
const deadlineAt = new Date(Date.now() + 3_600_000);
const routesTo = (...destinations: string[]) => [{ match: { form: 'nowhere' }, destinations, owner: 'bob', policy: 'strict' }];

/** A lead that no rule matches. Gives its event id. */
async function unroutedLead(changes: Parameters<typeof submission>[0] = {}): Promise<string> {
  const { context } = tools.telemetry.startSpan('test', { kind: 'server' });
  const arrival = { submission: submission({ form: 'nowhere', formSlug: 'nowhere', ...changes }), trace: context };
  const [answer] = (await acceptLeads(tools, [arrival])) as Extract<Acceptance, { leadRef: string }>[];
  await owner.query('delete from intake.outbox');
  return answer?.eventId ?? '';
}

const submitted = (changes: Partial<LeadSubmitted> = {}): LeadSubmitted => ({
  source_event_id: `feed-${randomBytes(8).toString('hex')}`,
  organization: 'demo',
  source: 'website',
  form: 'contact',
  campaign: null,
  submitted_at: new Date(Date.now() - 7 * 3_600_000),
  contact: { name: 'Ada Example', email: 'ada@example.test', phone: null },
  message: null,
  consent: { given: true, at: null },
  custom: {},
  supersedes: null,
  test: false,
  ...changes,
});

/** A record of `leads` that is refused. Gives the id of what is kept of it. */
async function refusedRecordOf(lead: LeadSubmitted | Buffer): Promise<string> {
  const before = (await rows('select rejected_id from intake.rejected')).length;
  await producer.send([{ topic: leads.topic, key: null, value: Buffer.isBuffer(lead) ? lead : codec.encode(LeadSubmittedEvent, lead) }]);
  await eventually('the refusal', async () => (await rows('select rejected_id from intake.rejected')).length > before);
  await owner.query('delete from intake.outbox');
  return (await rows('select rejected_id from intake.rejected order by rejected_at desc, rejected_id desc limit 1'))[0].rejected_id;
}

async function erase(eventId: string): Promise<void> {
  await eraseLeads({ ...tools, db, codec, relayWake: () => undefined }, [eventId]);
  await owner.query('delete from intake.outbox');
}

type Named = Pick<Permit, 'itemId' | 'eventId' | 'destination'>;
const itemOf = (eventId: string, destination: string): Named => ({ itemId: randomUUID(), eventId, destination });
async function recordOf(item: Named, changes: Partial<Permit> = {}) {
  const operationKeys = [`${item.eventId}:${item.destination}:intake`];
  const permit: Permit = { batchId, operationKeys, notAfter: deadlineAt, deadlineAt, ...item, ...changes };
  return {
    topic: replayTopic,
    key: null,
    value: null,
    headers: { [headers.eventId]: item.eventId, [headers.replayPermit]: await signPermit(permit, asJwk(privateKey)) },
  };
}
const send = async (...records: Awaited<ReturnType<typeof recordOf>>[]) => {
  await producer.send(records);
};
const allCommitted = () =>
  eventually('every item settled', async () => {
    const [end, done] = [await admin.topicOffsets(replayTopic), await admin.groupOffsets(leads.group, [replayTopic])];
    return (done[0]?.offset ?? 0n) === end[0]?.high;
  });
/** Sends an approved item through Kafka and waits until it is settled. */
async function replay(item: Named): Promise<void> {
  await send(await recordOf(item));
  await allCommitted();
}
const named = ({ itemId: item_id, eventId: event_id, destination }: Named) => ({ item_id, event_id, destination });
const stateOf = async (item: Named) => (await itemStates(db, [named(item)]))[0];
const factsOf = async (item: Named) => (await replayFacts(db, [named(item)]))[0];
const foundOf = async (item: Named) => (await lookUpItems(db, [named(item)]))[0]?.operations[0];
const deliveriesOf = (eventId: string) =>
  rows('select destination, state, owner, deadline_at from intake.delivery where event_id = $1 order by destination', [eventId]);

describe('an approved lead without a route', () => {
  it('goes where the rules of now say, under its own event id and with the new deadline', async () => {
    const eventId = await unroutedLead();
    const item = itemOf(eventId, unrouted);
    expect(await factsOf(item)).toMatchObject({ state: 'dead', class: 'routing', code: 'no_route', operations: [{ state: 'dead' }] });
    now.routing = routesTo('crm', 'marketing');
    await replay(item);
    expect(await deliveriesOf(eventId)).toEqual([
      { destination: 'crm', state: 'accepted', owner: 'bob', deadline_at: deadlineAt },
      { destination: 'marketing', state: 'accepted', owner: 'bob', deadline_at: deadlineAt },
    ]);
    const [record, ...more] = await rows('select topic, key, value, headers from intake.outbox');
    expect([record.topic, more]).toEqual(['lead.accepted', []]);
    const event = await codec.decode(LeadAcceptedEvent, record.value);
    expect(event).toMatchObject({ event_id: eventId, destinations: ['crm', 'marketing'], policy: 'strict', deadline_at: deadlineAt });
    expect(record.headers).toMatchObject({ [headers.eventId]: eventId, [headers.destinations]: 'crm,marketing' });
    const [lead] = await rows('select event, record_key, policy from intake.lead where event_id = $1', [eventId]);
    expect([lead.event, lead.record_key, lead.policy]).toEqual([record.value, record.key, 'strict']);
    expect(await stateOf(item)).toMatchObject({
      applied: true,
      closed: false,
      state: 'delivered',
      code: 'routed',
      refs: { intake: eventId },
    });
    expect(await foundOf(item)).toMatchObject({ result: 'found', ref: eventId });
    expect(await factsOf(item)).toMatchObject({ state: 'delivered' });
  });

  it('is dead again where there is still no route, with a letter of its own and the attempt counted', async () => {
    const eventId = await unroutedLead();
    const [first, second] = [itemOf(eventId, unrouted), itemOf(eventId, unrouted)];
    await replay(first);
    await replay(second);
    expect(await deliveriesOf(eventId)).toMatchObject([{ destination: unrouted, state: 'dead', deadline_at: deadlineAt }]);
    const letters = await rows('select topic, headers from intake.outbox order by id');
    expect(letters.map(({ topic }) => topic)).toEqual(['leads.intake.dlq', 'leads.intake.dlq']);
    expect(letters.map((letter) => letter.headers[headers.attempts])).toEqual(['1', '2']);
    expect(letters[0]?.headers).toMatchObject({
      [headers.errorClass]: 'routing',
      [headers.errorCode]: 'no_route',
      [headers.destinations]: unrouted,
      [headers.deadlineAt]: String(deadlineAt.getTime()),
    });
    expect(await stateOf(first)).toMatchObject({ applied: true, state: 'dead', class: 'routing', code: 'no_route', refs: {} });
    expect(await foundOf(first)).toEqual(expect.objectContaining({ result: 'absent' }));
  });

  it('goes nowhere that needs the consent which was withdrawn meanwhile', async () => {
    const eventId = await unroutedLead();
    now.routing = routesTo('marketing');
    await owner.query(
      'update intake.vault set consent_withdrawn_at = now() from intake.lead l where l.lead_ref = vault.lead_ref and event_id = $1',
      [eventId],
    );
    const item = itemOf(eventId, unrouted);
    await replay(item);
    expect(await stateOf(item)).toMatchObject({ applied: true, state: 'dead', code: 'no_consent' });
    expect(await deliveriesOf(eventId)).toMatchObject([{ destination: unrouted }]);
  });

  it('is not routed where it was erased', async () => {
    const eventId = await unroutedLead();
    now.routing = routesTo('crm');
    await erase(eventId);
    const item = itemOf(eventId, unrouted);
    await replay(item);
    expect(await stateOf(item)).toMatchObject({ applied: false, state: 'erased' });
    expect(await rows('select * from intake.outbox')).toEqual([]);
  });
});

describe('an approved refused record', () => {
  it('of a source that is configured now becomes a lead, once, and is found with it', async () => {
    const lead = submitted({ source: 'new-feed' });
    const item = itemOf(await refusedRecordOf(lead), refusedRecord);
    expect(await factsOf(item)).toMatchObject({ state: 'dead', class: 'unknown_source' });
    now.sources = [...now.sources, source({ id: 'new-feed' })];
    await replay(item);
    const state = await stateOf(item);
    expect(state).toMatchObject({ applied: true, state: 'delivered', code: 'accepted' });
    const eventId = state?.refs.intake ?? '';
    const [key] = await rows('select * from intake.intake_key where event_id = $1', [eventId]);
    expect(key).toMatchObject({ organization: 'demo', source: 'new-feed' });
    const [stored] = await rows('select submitted_at, deadline_at from intake.lead where event_id = $1', [eventId]);
    expect(stored).toEqual({ submitted_at: lead.submitted_at, deadline_at: deadlineAt });
    const [kept] = await rows('select * from intake.rejected where rejected_id = $1', [item.eventId]);
    expect(kept).toMatchObject({ event_id: eventId, accepted_as: eventId, source: 'new-feed', attempts: 1 });
    expect(kept.email_key).not.toBeNull();
    expect(await foundOf(item)).toMatchObject({ result: 'found', ref: eventId });
    const again = itemOf(item.eventId, refusedRecord);
    await replay(again);
    expect(await stateOf(again)).toMatchObject({ applied: false, state: 'delivered' });
    expect(await rows('select 1 from intake.intake_key where source = $1', ['new-feed'])).toHaveLength(1);
  });

  it('needs one connection alone: whoever decides does not wait for a second one', async () => {
    const item = { ...itemOf(await refusedRecordOf(submitted({ source: 'lone-feed' })), refusedRecord), deadlineAt };
    now.sources = [...now.sources, source({ id: 'lone-feed' })];
    const lone = await openIntakeDatabase(database.url, 1);
    try {
      const { context } = tools.telemetry.startSpan('test', { kind: 'consumer' });
      const decided = await decideAgain({ ...tools, db: lone, clock: new DatabaseClock(lone), codec }, item, context);
      expect(decided).toMatchObject({ outcome: 'done', code: 'accepted' });
    } finally {
      await lone.close();
    }
  });

  it('whose submission was accepted meanwhile comes to the same lead', async () => {
    const lead = submitted({ source: 'late-feed' });
    const item = itemOf(await refusedRecordOf(lead), refusedRecord);
    now.sources = [...now.sources, source({ id: 'late-feed' })];
    await producer.send([{ topic: leads.topic, key: null, value: codec.encode(LeadSubmittedEvent, lead) }]);
    const [accepted] = await eventually('the lead', async () => {
      const found = await rows('select event_id from intake.lead where source = $1', ['late-feed']);
      return found.length > 0 && found;
    });
    await replay(item);
    expect(await stateOf(item)).toMatchObject({ state: 'delivered', code: 'accepted_before', refs: { intake: accepted.event_id } });
  });

  it.each<[string, LeadSubmitted | Buffer, object]>([
    [
      'is still invalid',
      submitted({ contact: { name: null, email: 'not an address', phone: null } }),
      { class: 'invalid', code: 'invalid_fields' },
    ],
    ['is of an unknown source', submitted({ source: 'nobody' }), { class: 'unknown_source', code: 'not_configured' }],
    ['cannot be read', Buffer.from('no avro'), { class: 'decode', code: 'not_avro' }],
  ])('that %s is refused again, and says why', async (_, lead, why) => {
    const item = itemOf(await refusedRecordOf(lead), refusedRecord);
    await replay(item);
    expect(await stateOf(item)).toMatchObject({ applied: true, state: 'dead', ...why });
    expect(
      (await rows('select attempts, accepted_as, class, code from intake.rejected where rejected_id = $1', [item.eventId]))[0],
    ).toEqual({
      attempts: 1,
      accepted_as: null,
      ...why,
    });
    expect(await rows('select 1 from intake.outbox')).toEqual([]);
  });

  it('that used an id again for other content is a conflict again', async () => {
    const first = submitted();
    await producer.send([{ topic: leads.topic, key: null, value: codec.encode(LeadSubmittedEvent, first) }]);
    const item = itemOf(await refusedRecordOf({ ...first, message: 'Other words' }), refusedRecord);
    await replay(item);
    expect(await stateOf(item)).toMatchObject({ applied: true, state: 'dead', class: 'conflict', code: 'idempotency_conflict' });
  });

  it('that is older than max_age by what it says itself is not accepted, however young its record is', async () => {
    const lead = submitted({ source: 'old-feed' });
    const item = itemOf(await refusedRecordOf(lead), refusedRecord);
    const { submitted_at: recordAt } = (await factsOf(item)) ?? {};
    expect(Date.now() - Date.parse(recordAt ?? '')).toBeLessThan(3_600_000);
    now.sources = [...now.sources, source({ id: 'old-feed' })];
    now.policies = { ...now.policies, default: { ...now.policies.default, maxAgeMs: 6 * 3_600_000 } };
    await replay(item);
    expect(await stateOf(item)).toMatchObject({ applied: true, state: 'dead', class: 'deadline_exceeded', code: 'max_age_passed' });
    expect(await rows('select 1 from intake.lead where source = $1', ['old-feed'])).toEqual([]);
    expect(await rows('select 1 from intake.outbox')).toEqual([]);
  });

  it('of which nothing is kept any more is erased', async () => {
    const item = itemOf(await refusedRecordOf(submitted({ source: 'nobody' })), refusedRecord);
    await erase(item.eventId);
    await replay(item);
    expect(await stateOf(item)).toMatchObject({ applied: false, state: 'erased' });
    expect(await factsOf(item)).toMatchObject({ state: 'erased' });
  });
});

describe('an item', () => {
  it('is applied once, however often its record comes', async () => {
    const eventId = await unroutedLead();
    const item = itemOf(eventId, unrouted);
    await send(await recordOf(item), await recordOf(item));
    await allCommitted();
    expect(await rows('select 1 from intake.outbox')).toHaveLength(1);
    expect(await rows('select 1 from intake.replay_item where event_id = $1', [eventId])).toHaveLength(1);
  });

  it('that was closed is not applied', async () => {
    const eventId = await unroutedLead();
    now.routing = routesTo('crm');
    const item = itemOf(eventId, unrouted);
    expect(await closeItems(db, [named(item)])).toMatchObject([{ applied: false, closed: true, state: 'dead' }]);
    await replay(item);
    expect(await stateOf(item)).toMatchObject({ applied: false, closed: true, state: 'dead' });
    expect(await deliveriesOf(eventId)).toMatchObject([{ destination: unrouted, state: 'dead' }]);
  });

  it('waits while its batch is paused or nobody can say, and is applied afterwards', async () => {
    const eventId = await unroutedLead();
    now.routing = routesTo('crm');
    const item = itemOf(eventId, unrouted);
    open = [later];
    for (const state of ['paused', undefined] as const) {
      batch = state;
      const asked = questions;
      // Of a batch that was not heard of yet: what is said of one holds for a second.
      if (state === 'paused') await send(await recordOf(item, { batchId: later }));
      await eventually('two looks at the batch', () => questions > asked + 1);
      expect(await stateOf(item)).toMatchObject({ applied: false, closed: false });
    }
    batch = 'running';
    await allCommitted();
    expect(await stateOf(item)).toMatchObject({ applied: true, state: 'delivered' });
  });

  it.each<[string, (item: Named) => Promise<Awaited<ReturnType<typeof recordOf>>>]>([
    [
      'without a permit',
      async ({ eventId }) => ({ ...(await recordOf(itemOf(eventId, unrouted))), headers: { [headers.eventId]: eventId } as never }),
    ],
    ['with the permit of another lead', async (item) => recordOf(item, { eventId: randomUUID() })],
    ['of a batch that has ended', async (item) => recordOf(item, { batchId: randomUUID() })],
    ['after its time', async (item) => recordOf(item, { notAfter: new Date(Date.now() - 60_000) })],
    ['for a destination of another service', async (item) => recordOf(item, { destination: 'crm' })],
  ])('%s is settled without effect', async (_, made) => {
    const eventId = await unroutedLead();
    now.routing = routesTo('crm');
    const item = itemOf(eventId, unrouted);
    await send(await made(item));
    await allCommitted();
    expect(await deliveriesOf(eventId)).toMatchObject([{ destination: unrouted, state: 'dead' }]);
    expect(await rows('select 1 from intake.replay_item where event_id = $1', [eventId])).toEqual([]);
  });

  it('that cannot be applied has failed at once', async () => {
    const item = itemOf(await unroutedLead(), unrouted);
    const decode = () => Promise.reject(new TypeError('broken'));
    const gate = openReplayGate({ secretsDir, operator, logger: silent });
    const items = new ReplayedItems({ ...tools, db, codec: { ...codec, decode } as never, topic: replayTopic, gate, logger: silent });
    const record = await recordOf(item);
    const bytes = Object.fromEntries(Object.entries(record.headers).map(([name, text]) => [name, Buffer.from(text)]));
    let settled = false;
    const settle = () => {
      settled = true;
    };
    const received = { ...record, headers: bytes, partition: 0, offset: 0n, timestampMs: 0 };
    items.take([{ receipt: { record: received, stale: false, settle, redeliverIn: () => undefined } }]);
    await eventually('the item', () => settled);
    expect(await stateOf(item)).toMatchObject({ applied: true, state: 'dead', class: 'permanent', code: 'cannot_apply' });
  });

  it('whose process dies before the commit is wholly undone, and applied when it comes again', async () => {
    const eventId = await unroutedLead();
    now.routing = routesTo('crm');
    const item = itemOf(eventId, unrouted);
    const record = { ...(await recordOf(item)), partition: 0, offset: 0n, timestampMs: 0 };
    const bytes = Object.fromEntries(Object.entries(record.headers).map(([name, text]) => [name, Buffer.from(text)]));
    let settled = 0;
    const receipt = {
      record: { ...record, headers: bytes },
      stale: false,
      settle: () => {
        settled += 1;
      },
      redeliverIn: () => undefined,
    };
    const dying: Database = {
      ...db,
      sql: (...asked) => db.sql(...asked),
      transaction: (work) =>
        db.transaction(async (tx) => {
          await work(tx);
          throw new Error('killed');
        }),
    };
    const gate = openReplayGate({ secretsDir, operator, logger: silent });
    const take = async (using: Database) => {
      const items = new ReplayedItems({ ...tools, db: using, codec, topic: replayTopic, gate, logger: silent });
      items.take([{ receipt }]);
      const before = settled;
      await eventually('the item', () => settled > before);
    };
    await take(dying);
    expect(await deliveriesOf(eventId)).toMatchObject([{ destination: unrouted, state: 'dead' }]);
    expect(await rows('select 1 from intake.outbox')).toEqual([]);
    expect(await stateOf(item)).toMatchObject({ applied: false, state: 'dead' });
    await take(db);
    await take(db);
    expect(await deliveriesOf(eventId)).toMatchObject([{ destination: 'crm', state: 'accepted' }]);
    expect(await rows('select 1 from intake.outbox')).toHaveLength(1);
  });
});
