import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { z } from 'zod';
import { dlqTopic, groups, headers, type LeadResolved, LeadResolvedEvent, topics } from '#contracts';
import type { HistoryAnswer, UnresolvedAnswer } from '#delivery';
import {
  applySchemas,
  applyTopics,
  type Codec,
  createCodec,
  createGroupConsumer,
  createKafka,
  findSchemaIdTables,
  type GroupConsumer,
  type KafkaPort,
  loadSchemaIds,
  type ProducerPort,
} from '#messaging';
import {
  baseEnv,
  createLogger,
  metrics,
  migrateService,
  newEventId,
  openDatabase,
  type Site,
  type Stoppable,
  startTelemetry,
} from '#runtime';
import { eventually, type TestDatabase, testDatabase, testInfra, uniqueName } from '#testkit';
import { notifierEnv } from './env.js';
import { migrations } from './migrations/index.js';
import type { NotificationState } from './notification-states.js';
import { PretendChat } from './spec/pretend-chat.js';
import { resolvedLead } from './spec/resolved-lead.js';
import { startNotifier } from './start-notifier.js';

/** Real servers on a busy machine. */
jest.setTimeout(90_000);

describe('notifier on real servers', () => {
  const { kafkaBrokers, schemaRegistry } = testInfra();
  const logger = createLogger('notifier-spec', 'silent');
  const chat = new PretendChat();
  const secretsDir = mkdtempSync(join(tmpdir(), 'notifier-'));
  const tokens = { intake: 'intake-token-0123456789', operator: 'operator-token-0123456789' };
  let database: TestDatabase;
  let owner: pg.Client;
  let kafka: KafkaPort;
  let producer: ProducerPort;
  let codec: Codec;
  let parts: Stoppable[] = [];
  let internalUrl: string;
  let dead: GroupConsumer;
  const letters: { id: string; errorClass: string }[] = [];

  const site = (apiUrl: string): Site => ({
    sources: [],
    routing: [
      { match: { source: 'website' }, destinations: ['sandbox-crm'], chat: 'sales', owner: 'ada', policy: 'default' },
      { match: { source: 'tester' }, destinations: ['sandbox-crm'], chat: 'real', owner: 'ada', policy: 'default' },
      { match: { source: 'nobodys' }, destinations: ['sandbox-crm'], chat: 'real', policy: 'default' },
    ],
    destinations: {},
    policies: { default: { name: 'default', attempts: 4, deadlineMs: 60_000, maxAgeMs: 60_000 } },
    channels: {
      sales: { name: 'sales', kind: 'telegram', apiUrl, token: { file: 'chat-token' }, chatId: '-1001', sandbox: true },
      real: { name: 'real', kind: 'telegram', apiUrl, token: { file: 'chat-token' }, chatId: '-2002', sandbox: false },
    },
    owners: { ada: { id: 'ada', name: 'Sales duty' } },
    operator: { policies: {} },
    retention: { vaultMs: 400 * 86_400_000 },
    limits: { bodyBytes: 262_144 },
  });

  const freePort = async (): Promise<number> => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    return port;
  };

  beforeAll(async () => {
    writeFileSync(join(secretsDir, 'chat-token'), '1:token');
    writeFileSync(join(secretsDir, 'internal-tokens.json'), JSON.stringify(tokens));
    writeFileSync(join(secretsDir, 'hmac.key'), Buffer.alloc(32, 7).toString('base64'));
    database = await testDatabase('notifier');
    await migrateService({ url: database.url, service: 'notifier', migrations });
    await applySchemas({ registryUrl: schemaRegistry, dir: 'schemas', databases: await findSchemaIdTables(database.url) });
    owner = new pg.Client({ connectionString: database.url });
    await owner.connect();
    kafka = createKafka({ brokers: kafkaBrokers.split(','), clientId: 'notifier-spec', logger });
    const admin = await kafka.admin();
    await applyTopics({ admin, destinations: [], replication: 1 });
    producer = await kafka.producer();
    const db = await openDatabase({ url: database.url, role: 'ld_notifier', schema: 'notifier', applicationName: 'spec' });
    codec = createCodec({ known: await loadSchemaIds(db) });
    await db.close();

    dead = createGroupConsumer({
      kafka,
      group: uniqueName('letters'),
      topics: [dlqTopic(topics.leadResolved, groups.notifier)],
      sessionTimeoutMs: 30_000,
      maxWaitMs: 200,
      logger,
      onReceipts: (receipts) => {
        for (const { record } of receipts) {
          letters.push({ id: String(record.headers[headers.eventId]), errorClass: String(record.headers[headers.errorClass]) });
        }
        for (const receipt of receipts) receipt.settle();
      },
    });
    await dead.start();

    const apiUrl = await chat.open();
    const port = await freePort();
    internalUrl = `http://127.0.0.1:${port}/internal/v1`;
    const env = z.object({ ...baseEnv, ...notifierEnv }).parse({
      LD_SITE_FILE: 'unused',
      LD_SECRETS_DIR: secretsDir,
      DATABASE_URL: database.url,
      KAFKA_BROKERS: kafkaBrokers,
      KAFKA_SESSION_TIMEOUT_MS: '6000',
      SCHEMA_REGISTRY_URL: schemaRegistry,
      INTERNAL_PORT: String(port),
      SWEEP_MS: '200',
    });
    const telemetry = startTelemetry({ service: 'notifier', ratio: 1 });
    const tempo = { backoff: { baseMs: 1_000, capMs: 4_000 }, coolDown: { coolDownMs: 1_000, longestCoolDownMs: 4_000 } };
    parts = await startNotifier({ env, site: site(apiUrl), logger, telemetry, signal: new AbortController().signal }, tempo);
  });
  afterAll(async () => {
    for (const part of [...parts].reverse()) await part.stop();
    await dead?.stop(0);
    await kafka?.close();
    await owner?.end();
    await database?.drop();
    await chat.close();
  });
  beforeEach(() => {
    chat.script = [];
    chat.refusing = undefined;
  });

  const announce = (events: LeadResolved[], traceparent?: string) =>
    producer.send(
      events.map((event) => ({
        topic: topics.leadResolved,
        key: Buffer.from(event.event_id),
        value: codec.encode(LeadResolvedEvent, event),
        headers: { [headers.eventId]: event.event_id, ...(traceparent && { [headers.traceparent]: traceparent }) },
      })),
    );
  const ask = async (path: string, body: unknown, token = tokens.intake): Promise<unknown> => {
    const response = await fetch(`${internalUrl}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
    return response.json();
  };
  /** `flowing` of a channel that is neither blocked nor just back; undefined for one that never sent. */
  const modeOf = async (channel: string): Promise<string | undefined> => {
    const answer = (await ask('destinations:state', {})) as { items: { destination: string; mode: string }[] };
    return answer.items.find(({ destination }) => destination === channel)?.mode;
  };
  const notificationsOf = async (eventId: string): Promise<NotificationState[] | undefined> => {
    const answer = (await ask('deliveries:state', { items: [{ event_id: eventId }] })) as {
      items: { notifications: NotificationState[] }[];
    };
    return answer.items[0]?.notifications;
  };
  const told = (leadRef: string) => eventually(`a message about ${leadRef}`, () => chat.told(leadRef) > 0, { timeoutMs: 60_000 });
  /** Its one notification is in this state; times are of no interest here. */
  const becomes = (event: LeadResolved, state: string, template = 'lead_delivered') =>
    eventually(
      `the notification to be ${state}`,
      async () => {
        const [only, ...more] = (await notificationsOf(event.event_id)) ?? [];
        return more.length === 0 && only?.channel === 'sales' && only.template === template && only.state === state;
      },
      { timeoutMs: 60_000 },
    );
  const counted = async (channel: string, outcome: string): Promise<number> => {
    const { values } = await metrics.notifications.get();
    return values.find(({ labels }) => labels.channel === channel && labels.outcome === outcome)?.value ?? 0;
  };

  it('tells once of a lead whose record comes three times, in the trace of its delivery', async () => {
    const event = resolvedLead();
    const traceId = newEventId().replaceAll('-', '');
    const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
    await announce([event, event], traceparent);
    await told(event.lead_ref);
    await announce([event], traceparent);
    const after = resolvedLead();
    await announce([after]);
    await told(after.lead_ref);
    await becomes(event, 'succeeded');
    expect(chat.told(event.lead_ref)).toBe(1);
    expect(chat.messages.find(({ text }) => text.includes(event.lead_ref))?.traceparent).toContain(traceId);
    expect(chat.messages.find(({ text }) => text.includes(event.lead_ref))?.text).toContain('Owner: Sales duty');
  });

  it('tells of a failure under its own template, also after the lead was told delivered', async () => {
    const event = resolvedLead();
    await announce([event, { ...event, outcome: 'dead', error_class: 'permanent', error_code: 'http_400', resolution_id: newEventId() }]);
    await eventually('both messages', () => chat.told(event.lead_ref) === 2, { timeoutMs: 60_000 });
    const texts = chat.messages.filter(({ text }) => text.includes(event.lead_ref)).map(({ text }) => text);
    expect(texts.map((text) => text.split('#')[1]).sort()).toEqual(['lead_dead', 'lead_delivered']);
  });

  it('tells nobody of a secondary destination, nor of a test lead outside a sandbox, and counts the latter', async () => {
    const secondary = resolvedLead({ primary: false, destination: 'sandbox-marketing' });
    const test = resolvedLead({ test: true, source: 'tester' });
    const sandboxTest = resolvedLead({ test: true });
    const before = await counted('real', 'test_lead');
    await announce([secondary, test, sandboxTest]);
    await told(sandboxTest.lead_ref);
    await eventually('the silence to be counted', async () => (await counted('real', 'test_lead')) > before);
    expect([chat.told(secondary.lead_ref), chat.told(test.lead_ref)]).toEqual([0, 0]);
    expect(await notificationsOf(secondary.event_id)).toEqual([]);
  });

  it('tells a lead that died and was delivered after all as delivered, and a later repair of it no more', async () => {
    const event = resolvedLead({ outcome: 'dead', error_class: 'attempts_exhausted', error_code: 'http_503' });
    await announce([event]);
    await told(event.lead_ref);
    const delivered = { ...event, outcome: 'delivered', error_class: null, error_code: null, resolution_id: newEventId() };
    await announce([delivered]);
    await eventually('the second message', () => chat.told(event.lead_ref) === 2, { timeoutMs: 60_000 });
    await announce([{ ...delivered, generation: 2, resolution_id: newEventId() }]);
    const after = resolvedLead();
    await announce([after]);
    await told(after.lead_ref);
    const texts = chat.messages.filter(({ text }) => text.includes(event.lead_ref)).map(({ text }) => text.split('\n')[0]);
    expect(texts).toEqual([`Lead NOT delivered: ${event.lead_ref}`, `Lead delivered: ${event.lead_ref}`]);
  });

  it('tells the fallback chat of a lead that belongs to nobody, and leaves a dead letter of it', async () => {
    const event = resolvedLead({ source: 'nobodys' });
    await announce([event]);
    await told(event.lead_ref);
    const message = chat.messages.find(({ text }) => text.includes(event.lead_ref));
    expect([message?.chatId, message?.text.includes('Owner: nobody (unknown_owner)')]).toEqual(['-1001', true]);
    await eventually('its dead letter', () =>
      letters.some(({ id, errorClass }) => id === event.event_id && errorClass === 'unknown_owner'),
    );
  });

  it('asks a recipient that has blocked it once and goes on with others', async () => {
    chat.script = ['block'];
    const event = resolvedLead();
    await announce([event]);
    await becomes(event, 'dead');
    expect(chat.asked(event.lead_ref)).toBe(1);
    await eventually('its dead letter', () => letters.some(({ id, errorClass }) => id === event.event_id && errorClass === 'permanent'));
    const next = resolvedLead();
    await announce([next]);
    await told(next.lead_ref);
  });

  it('holds no chat up because another refuses', async () => {
    chat.refusing = '-2002';
    const refused = Array.from({ length: 40 }, () => resolvedLead({ source: 'tester' }));
    await announce(refused);
    await eventually('the first refusal', () => refused.some(({ lead_ref }) => chat.asked(lead_ref) > 0), { timeoutMs: 60_000 });
    const others = Array.from({ length: 40 }, () => resolvedLead());
    await announce(others);
    for (const { lead_ref } of others) await told(lead_ref);
    expect(refused.filter(({ lead_ref }) => chat.told(lead_ref) > 0)).toEqual([]);
    chat.refusing = undefined;
    for (const { lead_ref } of refused) await told(lead_ref);
    expect(refused.filter(({ lead_ref }) => chat.told(lead_ref) !== 1)).toEqual([]);
  });

  it('sends again what was throttled, not before it was asked to', async () => {
    chat.script = ['throttle'];
    const event = resolvedLead();
    const begun = Date.now();
    await announce([event]);
    await told(event.lead_ref);
    expect(Date.now() - begun).toBeGreaterThanOrEqual(1_000);
    expect([chat.asked(event.lead_ref), chat.told(event.lead_ref)]).toEqual([2, 1]);
    await becomes(event, 'succeeded');
  });

  it('sends what could not be sent once the chat is back', async () => {
    await chat.close();
    const event = resolvedLead();
    await announce([event]);
    await becomes(event, 'waiting');
    await chat.open();
    await becomes(event, 'succeeded');
    expect(chat.told(event.lead_ref)).toBe(1);
    // Another lead has to get through as well before the channel counts as back, and then it is trusted more each second.
    const another = resolvedLead();
    await announce([another]);
    await told(another.lead_ref);
    await eventually('the channel to be back', async () => (await modeOf('sales')) === 'flowing', { timeoutMs: 60_000 });
  });

  it('tells a lead that died and was delivered after all while the chat was down as delivered alone', async () => {
    const before = await counted('sales', 'superseded');
    await chat.close();
    const dead = resolvedLead({ outcome: 'dead', error_class: 'attempts_exhausted', error_code: 'http_503' });
    await announce([dead]);
    await becomes(dead, 'waiting', 'lead_dead');
    const resolved_at = new Date(dead.resolved_at.getTime() + 60_000);
    const delivered = { ...dead, outcome: 'delivered', error_class: null, error_code: null, resolution_id: newEventId(), resolved_at };
    await announce([delivered]);
    await eventually('both messages to wait', async () => (await notificationsOf(dead.event_id))?.length === 2);
    await chat.open();
    await told(dead.lead_ref);
    const statesOf = async () => {
      const all = (await notificationsOf(dead.event_id)) ?? [];
      return Object.fromEntries(all.map(({ template, state }) => [template, state]));
    };
    const ended = { lead_dead: 'discarded', lead_delivered: 'succeeded' };
    await eventually('the older message to end', async () => isDeepStrictEqual(await statesOf(), ended), { timeoutMs: 60_000 });
    const texts = chat.messages.filter(({ text }) => text.includes(dead.lead_ref)).map(({ text }) => text.split('\n')[0]);
    expect(texts).toEqual([`Lead delivered: ${dead.lead_ref}`]);
    expect(await counted('sales', 'superseded')).toBe(before + 1);
    const { rows } = await owner.query(`SELECT state, code FROM notifier.delivery WHERE event_id = $1 AND destination LIKE '%/lead_dead'`, [
      dead.event_id,
    ]);
    expect(rows).toEqual([{ state: 'discarded', code: 'superseded' }]);
    const another = resolvedLead();
    await announce([another]);
    await told(another.lead_ref);
    await eventually('the channel to be back', async () => (await modeOf('sales')) === 'flowing', { timeoutMs: 60_000 });
  });

  it('never sends again what may have been sent, says so and goes on with others', async () => {
    const before = await counted('sales', 'uncertain');
    chat.script = ['lose'];
    const event = resolvedLead();
    await announce([event]);
    await becomes(event, 'uncertain');
    await announce([event]);
    const next = resolvedLead();
    await announce([next]);
    await told(next.lead_ref);
    await becomes(event, 'uncertain');
    expect(chat.asked(event.lead_ref)).toBe(1);
    expect(await counted('sales', 'uncertain')).toBe(before + 1);
  });

  it('has the owner of a lead found once, whatever becomes of its messages', async () => {
    chat.script = ['lose'];
    const event = resolvedLead({ source: 'nobodys', outcome: 'dead', error_class: 'permanent', error_code: 'http_400' });
    await announce([event]);
    await becomes(event, 'uncertain', 'lead_dead');
    const lettersOf = ({ event_id }: LeadResolved) =>
      letters.filter(({ id, errorClass }) => id === event_id && errorClass === 'unknown_owner').length;
    await eventually('its dead letter', () => lettersOf(event) === 1);
    const later = new Date(event.resolved_at.getTime() + 1_000);
    const delivered = { outcome: 'delivered', error_class: null, error_code: null, resolution_id: newEventId(), resolved_at: later };
    const next = resolvedLead({ source: 'nobodys' });
    await announce([event, { ...event, ...delivered }, next]);
    await told(event.lead_ref);
    await eventually('the letter of another', () => lettersOf(next) === 1);
    const rows = await owner.query('SELECT event_id FROM notifier.ownerless_lead WHERE event_id = $1', [event.event_id]);
    expect([rows.rowCount, lettersOf(event)]).toEqual([1, 1]);
  });

  it('names such a lead, and what its letter needs, for whoever lacks the letter', async () => {
    const event = resolvedLead({ source: 'nobodys' });
    await announce([event]);
    await told(event.lead_ref);
    const { items } = (await ask('deliveries:unresolved', { limit: 500 }, tokens.operator)) as UnresolvedAnswer;
    const [item] = items.filter(({ event_id }) => event_id === event.event_id);
    expect(item).toMatchObject({ state: 'dead', class: 'unknown_owner', code: 'no_owner', lead_ref: event.lead_ref });
    expect(Date.parse(item?.deadline_at ?? '')).toBe(event.resolved_at.getTime() + 24 * 3_600_000);
    const asked = { items: [{ event_id: event.event_id, destination: item?.destination }], records: true };
    const history = (await ask('deliveries:history', asked, tokens.operator)) as HistoryAnswer;
    expect(history.items).toMatchObject([{ state: 'delivered', event: codec.encode(LeadResolvedEvent, event).toString('base64') }]);
  });

  it('finds a message uncertain whose sender died in the middle of it, and counts it', async () => {
    const before = await counted('sales', 'uncertain');
    const event = resolvedLead();
    await announce([event]);
    await becomes(event, 'succeeded');
    // As a process leaves it that is killed between the mark and the answer.
    await owner.query(
      `UPDATE notifier.operation SET state = 'in_flight', sending_at = now(), destination_ref = NULL, attempt_id = gen_random_uuid()
       WHERE event_id = $1`,
      [event.event_id],
    );
    await owner.query(
      `UPDATE notifier.delivery d SET state = 'in_flight', lease_until = now() - interval '1 second', attempt_id = o.attempt_id
       FROM notifier.operation o WHERE o.event_id = d.event_id AND d.event_id = $1`,
      [event.event_id],
    );
    await becomes(event, 'uncertain');
    expect(chat.asked(event.lead_ref)).toBe(1);
    expect(await counted('sales', 'uncertain')).toBe(before + 1);
  });

  it('answers the callers it knows only', async () => {
    const response = await fetch(`${internalUrl}/deliveries:state`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    });
    expect(response.status).toBe(401);
  });
});
