import 'reflect-metadata';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { groups, type LeadAccepted, LeadAcceptedEvent, type LeadResolved, LeadResolvedEvent, topics, topology } from '#contracts';
import type { DestinationFigures, DestinationFiguresAnswer, FiguresAnswer } from '#delivery';
import {
  type AdminPort,
  applySchemas,
  applyTopics,
  type Codec,
  type ConsumedRecord,
  createCodec,
  createGroupConsumer,
  createKafka,
  type GroupConsumer,
  type KafkaPort,
} from '#messaging';
import { createLogger, loadSite, metrics, migrateService, newEventId, newLeadRef, type Stoppable, startTelemetry } from '#runtime';
import { eventually, type TestDatabase, testDatabase, testInfra, uniqueName } from '#testkit';
import { migrations } from './migrations/index.js';
import { startCrmWriter } from './start-crm-writer.js';

jest.setTimeout(90_000);

interface Post {
  url: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

const traceId = '0af7651916cd43dd8448eb211c80319c';

describe('crm-writer between Kafka, PostgreSQL, the vault and a CRM', () => {
  const destination = uniqueName('crm');
  const folder = mkdtempSync(join(tmpdir(), 'crm-writer-'));
  const logger = createLogger('test', 'silent');
  const token = randomUUID();
  const posts: Post[] = [];
  const resolved: ConsumedRecord[] = [];
  let vaultRequests = 0;
  let answerWith = 201;
  let kafka: KafkaPort;
  let admin: AdminPort;
  let codec: Codec;
  let database: TestDatabase;
  let crmServer: Server;
  let vaultServer: Server;
  let witness: GroupConsumer;
  let parts: Stoppable[] = [];
  let internalPort: number;

  beforeAll(async () => {
    const infra = testInfra();
    kafka = createKafka({ brokers: infra.kafkaBrokers.split(','), clientId: 'test', logger });
    admin = await kafka.admin();
    await applyTopics({ admin, destinations: [destination], replication: 1 });
    await skipToEnd(groups.crmWriter(destination), topics.leadAccepted);
    database = await testDatabase('crm_writer');
    await migrateService({ url: database.url, service: 'crm-writer', migrations });
    const databases = [{ url: database.url, schema: 'crm_writer' }];
    const dir = join(import.meta.dirname, '..', '..', '..', 'schemas');
    codec = createCodec({ known: await applySchemas({ registryUrl: infra.schemaRegistry, dir, databases }) });
    crmServer = await serve(crm);
    vaultServer = await serve(vault);
    internalPort = await freePort();
    await startWitness();
    await startWriter();
  });

  afterAll(async () => {
    for (const part of parts.reverse()) await part.stop();
    await witness?.stop();
    crmServer?.close();
    vaultServer?.close();
    const own = topology([destination]).topics.filter(({ name }) => name.includes(destination));
    await admin?.deleteTopics(own.map(({ name }) => name));
    await kafka?.close();
    await database?.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  const portOf = (server: Server): number => (server.address() as AddressInfo).port;

  async function serve(answer: (post: Post) => { status: number; body: unknown }): Promise<Server> {
    const server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => {
        text += String(chunk);
      });
      request.on('end', () => {
        const { status, body } = answer({ url: request.url ?? '', headers: request.headers, body: JSON.parse(text) });
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return server;
  }

  async function freePort(): Promise<number> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const port = portOf(server);
    server.close();
    await once(server, 'close');
    return port;
  }

  function crm(post: Post): { status: number; body: unknown } {
    posts.push(post);
    return { status: answerWith, body: answerWith === 201 ? { id: `rec-${posts.length}` } : {} };
  }

  function vault({ headers, body }: Post): { status: number; body: unknown } {
    if (headers.authorization !== `Bearer ${token}`) return { status: 401, body: {} };
    vaultRequests += 1;
    const items = (body.items as { lead_ref: string }[]).map(({ lead_ref }) => ({
      lead_ref,
      status: 200,
      revision: 1,
      payload: {
        contact: { name: 'Ada Example', email: 'ada@example.test' },
        custom: {},
        consent: { given: true },
        submitted_at: '2026-01-01T00:00:00.000Z',
        source: 'website',
        source_event_id: 'web-1',
        person_key: 'person-1',
      },
    }));
    return { status: 200, body: { items } };
  }

  async function skipToEnd(group: string, topic: string): Promise<void> {
    const ends = await admin.topicOffsets(topic);
    await admin.setGroupOffsets(
      group,
      ends.map(({ partition, high }) => ({ topic, partition, offset: high })),
    );
  }

  async function startWitness(): Promise<void> {
    const group = uniqueName('witness');
    await skipToEnd(group, topics.leadResolved);
    witness = createGroupConsumer({
      kafka,
      group,
      topics: [topics.leadResolved],
      sessionTimeoutMs: 10_000,
      logger,
      onReceipts: (receipts) => {
        resolved.push(...receipts.map(({ record }) => record));
        for (const receipt of receipts) receipt.settle();
      },
    });
    await witness.start();
  }

  async function startWriter(): Promise<void> {
    writeFileSync(join(folder, 'hmac.key'), randomBytes(32).toString('base64'));
    writeFileSync(
      join(folder, 'internal-tokens.json'),
      JSON.stringify({ 'crm-writer': token, intake: `${token}-intake`, operator: `${token}-operator` }),
    );
    writeFileSync(join(folder, 'crm-secret'), `whsec_${randomBytes(32).toString('base64')}`);
    const siteFile = join(folder, 'site.yaml');
    writeFileSync(
      siteFile,
      `sources: [{ id: website, organization: demo, country: US }]
routing: [{ match: {}, destinations: [${destination}], policy: default }]
destinations:
  ${destination}:
    connector: webhook
    primary: true
    sandbox: true
    requires_consent: true
    operations: [contact, lead]
    base_url: http://127.0.0.1:${portOf(crmServer)}/crm
    secret: { file: crm-secret }
    native_idempotency: true
    backoff: { base: 15s, cap: 5m }
policies: { default: { attempts: 4, deadline: 4h, max_age: 7d } }
`,
    );
    const infra = testInfra();
    const env = {
      LD_SITE_FILE: siteFile,
      LD_SECRETS_DIR: folder,
      DATABASE_URL: database.url,
      KAFKA_BROKERS: infra.kafkaBrokers.split(','),
      KAFKA_SESSION_TIMEOUT_MS: 10_000,
      INTERNAL_HOST: '127.0.0.1',
      INTERNAL_PORT: internalPort,
      INTERNAL_URLS: { intake: `http://127.0.0.1:${portOf(vaultServer)}` },
      LEASE_MS: 30_000,
      SWEEP_MS: 1_000,
      RELAY_POLL_MS: 1_000,
      LOG_LEVEL: 'silent' as const,
      TRACE_RATIO: 1,
    };
    const telemetry = startTelemetry({ service: 'crm-writer', ratio: 1 });
    parts = await startCrmWriter({ env, site: loadSite(siteFile), logger, telemetry, signal: new AbortController().signal });
  }

  async function accept(more: Partial<LeadAccepted> = {}): Promise<LeadAccepted> {
    const now = new Date();
    const event: LeadAccepted = {
      event_id: newEventId(),
      event_type: 'lead.accepted',
      version: 1,
      lead_ref: newLeadRef(),
      organization: 'demo',
      source: 'website',
      source_event_ref: 'ref',
      form: null,
      campaign: null,
      submitted_at: now,
      accepted_at: now,
      deadline_at: new Date(now.getTime() + 3_600_000),
      policy: 'default',
      payload_hmac: 'v1:00',
      consent: true,
      test: false,
      destinations: [destination],
      ...more,
    };
    const producer = await kafka.producer();
    await producer.send([
      {
        topic: topics.leadAccepted,
        key: Buffer.from(`key-${event.event_id}`),
        value: codec.encode(LeadAcceptedEvent, event),
        headers: {
          'ld-event-id': event.event_id,
          'ld-destinations': event.destinations.join(','),
          traceparent: `00-${traceId}-b7ad6b7169203331-01`,
        },
      },
    ]);
    await producer.close();
    return event;
  }

  const resolutionOf = async (event: LeadAccepted): Promise<{ record: ConsumedRecord; value: LeadResolved }> => {
    const find = () => resolved.find(({ headers }) => headers['ld-event-id']?.toString() === event.event_id);
    await eventually('the lead to be announced as resolved', () => find() !== undefined, { timeoutMs: 60_000 });
    const record = find() as ConsumedRecord;
    return { record, value: await codec.decode(LeadResolvedEvent, record.value) };
  };

  const askStates = (event: LeadAccepted, bearer = `${token}-intake`): Promise<Response> =>
    fetch(`http://127.0.0.1:${internalPort}/internal/v1/deliveries:state`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      body: JSON.stringify({ items: [{ event_id: event.event_id }] }),
    });

  it('carries an accepted lead to the CRM and announces it, in one trace and under one key', async () => {
    const event = await accept();
    const { record, value } = await resolutionOf(event);
    const own = posts.filter(({ body }) => body.lead_ref === event.lead_ref);
    expect(own.map(({ url }) => url)).toEqual(['/crm/contacts', '/crm/leads']);
    expect(own[1]?.body).toMatchObject({ external_id: event.event_id, contact_id: 'rec-1' });
    expect(own.every(({ headers }) => String(headers.traceparent).includes(traceId))).toBe(true);
    expect(value).toMatchObject({
      event_id: event.event_id,
      destination,
      primary: true,
      outcome: 'delivered',
      operations: [
        { kind: 'contact', state: 'succeeded', ref: 'rec-1', attempts: 1 },
        { kind: 'lead', state: 'succeeded', ref: 'rec-2', attempts: 1 },
      ],
    });
    expect(record.key?.toString()).toBe(`key-${event.event_id}`);
    expect(record.headers.traceparent?.toString()).toContain(traceId);
    expect(vaultRequests).toBe(1);
  });

  it('tells intake what became of a delivery, and nobody without a token', async () => {
    const event = await accept();
    await resolutionOf(event);
    expect((await askStates(event, 'nobody')).status).toBe(401);
    expect(await (await askStates(event)).json()).toMatchObject({
      items: [
        {
          event_id: event.event_id,
          deliveries: [{ destination, state: 'delivered', operations: [{ kind: 'contact' }, { kind: 'lead' }] }],
        },
      ],
    });
  });

  it('ends a lead without the consent that its destination has come to require, and its owner is told', async () => {
    const event = await accept({ consent: false });
    const { value } = await resolutionOf(event);
    expect(value).toMatchObject({ destination, outcome: 'dead', error_class: 'invalid', error_code: 'no_consent' });
    expect(posts.some(({ body }) => body.lead_ref === event.lead_ref)).toBe(false);
    // Intake finds it with its owner, and does not announce it again.
    expect(await (await askStates(event)).json()).toMatchObject({
      items: [{ event_id: event.event_id, deliveries: [{ destination, state: 'dead' }] }],
    });
  });

  it('leaves leads of other destinations alone', async () => {
    const foreign = await accept({ destinations: ['elsewhere'] });
    const own = await accept();
    await resolutionOf(own);
    expect(posts.some(({ body }) => body.lead_ref === foreign.lead_ref)).toBe(false);
  });

  it('says how many leads lie behind its paused group and since when, and takes them up once it is released', async () => {
    const ask = async <T>(path: string, body: object): Promise<T> => {
      const headers = { authorization: `Bearer ${token}-operator`, 'content-type': 'application/json' };
      const answer = await fetch(`http://127.0.0.1:${internalPort}/internal/v1/${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      return (await answer.json()) as T;
    };
    const command = (word: 'hold' | 'release') =>
      ask('deliveries:command', { command: word, destination, by: 'ada', reason: 'their maintenance' });
    const unclaimed = async () => {
      const { items } = await ask<DestinationFiguresAnswer>('destinations:figures', {});
      return items.find((item) => item.destination === destination);
    };
    const countOf = (item: DestinationFigures | undefined) =>
      item?.unclaimed !== undefined && 'count' in item.unclaimed ? item.unclaimed.count : undefined;
    const isPaused = async () => {
      const { values } = await metrics.consumerPaused.get();
      return values.some(
        ({ labels, value }) => labels.group === groups.crmWriter(destination) && labels.reason === 'destination' && value === 1,
      );
    };
    expect(await command('hold')).toMatchObject({ applied: true });
    await eventually('the group to pause', isPaused);
    const oldest = new Date(Date.now() - 60_000);
    const leads = [await accept({ submitted_at: oldest }), await accept(), await accept({ test: true })];
    await accept({ destinations: ['elsewhere'] });
    await eventually('the figures to have them', async () => countOf(await unclaimed()) === 3);
    expect(await unclaimed()).toMatchObject({
      waiting: 0,
      held: 0,
      unclaimed: { count: 3, exact: true, oldest_at: oldest.toISOString() },
    });
    const { open, unclaimed_unknown } = await ask<FiguresAnswer>('deliveries:figures', {});
    expect({ open, unclaimed_unknown }).toMatchObject({
      open: [{ destination, state: 'unclaimed', count: 2, age_ms: expect.any(Number) }],
      unclaimed_unknown: [],
    });
    expect(open[0]?.age_ms).toBeGreaterThanOrEqual(60_000);
    expect(await command('release')).toMatchObject({ applied: true });
    for (const event of leads) expect((await resolutionOf(event)).value.outcome).toBe('delivered');
    await eventually('the figures to have none', async () => countOf(await unclaimed()) === 0);
  });

  it('lets a lead wait that the CRM fails, delivers others meanwhile, and delivers it in the end', async () => {
    answerWith = 503;
    const failing = await accept();
    await eventually('the lead to wait', async () => {
      const { items } = (await (await askStates(failing)).json()) as { items: { deliveries: { state: string }[] }[] };
      return items[0]?.deliveries[0]?.state === 'waiting';
    });
    answerWith = 201;
    const other = await accept();
    expect((await resolutionOf(other)).value.outcome).toBe('delivered');
    const { value } = await resolutionOf(failing);
    expect(value).toMatchObject({ outcome: 'delivered' });
    expect(value.operations[0]?.attempts).toBeGreaterThan(1);
  });
});
