import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { dlqTopic, groups, headers, LeadAcceptedEvent, replayTopic, topics } from '#contracts';
import { historyRequest, openReplayGate, type ReplayVerdict, statesRequest, unresolvedRequest } from '#delivery';
import {
  applySchemas,
  applyTopics,
  type Codec,
  type ConsumedRecord,
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
  type InternalServer,
  internalClient,
  loadInternalTokens,
  migrateService,
  openDatabase,
  type Site,
  type Stoppable,
  startInternalServer,
  startTelemetry,
} from '#runtime';
import { eventually, type TestDatabase, testDatabase, testInfra, uniqueName } from '#testkit';
import { deadLetterHeaders, historyOf, leadAccepted, PretendOwner, silent } from '../test/rig.js';
import { operatorEnv } from './env.js';
import { migrations } from './migrations/index.js';
import { startOperator } from './start-operator.js';

/** Real servers on a busy machine. */
jest.setTimeout(90_000);

const crm = uniqueName('crm').toLowerCase();
const dlq = dlqTopic(topics.leadAccepted, groups.crmWriter(crm));
const replay = replayTopic(topics.leadAccepted, groups.crmWriter(crm));
const site = {
  destinations: { [crm]: { baseUrl: 'https://crm.example.test' } },
  policies: { default: { name: 'default', attempts: 4, deadlineMs: 60_000, maxAgeMs: 7 * 86_400_000 } },
  channels: {},
  operator: { policies: { singleOperator: { max: 50 } } },
} as unknown as Site;

const freePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
};

describe('operator on real servers', () => {
  const { kafkaBrokers, schemaRegistry } = testInfra();
  const secretsDir = mkdtempSync(join(tmpdir(), 'operator-'));
  const owner = new PretendOwner();
  let database: TestDatabase;
  let kafka: KafkaPort;
  let producer: ProducerPort;
  let codec: Codec;
  let ownerServer: InternalServer;
  let replayed: GroupConsumer;
  const replays: ConsumedRecord[] = [];
  let parts: Stoppable[] = [];
  let url: string;
  let internal: string;
  let personKey: string;
  /** By role. */
  const keys: Record<string, string> = {};

  beforeAll(async () => {
    execFileSync(process.execPath, ['deploy/make-secrets.mjs', secretsDir]);
    const people = JSON.parse(readFileSync(join(secretsDir, 'operator-tokens.json'), 'utf8')) as {
      token: string;
      subject: string;
      roles: string[];
    }[];
    for (const { token, roles } of people) keys[String(roles[0])] = token;
    personKey = people.find(({ subject }) => subject === 'ada')?.token ?? '';
    const tokens = loadInternalTokens(secretsDir);
    database = await testDatabase('operator');
    await migrateService({ url: database.url, service: 'operator', migrations });
    await applySchemas({ registryUrl: schemaRegistry, dir: 'schemas', databases: await findSchemaIdTables(database.url) });
    const db = await openDatabase({ url: database.url, role: 'ld_operator', schema: 'operator', applicationName: 'spec' });
    codec = createCodec({ known: await loadSchemaIds(db) });
    await db.close();
    kafka = createKafka({ brokers: kafkaBrokers.split(','), clientId: 'operator-spec', logger: silent });
    await applyTopics({ admin: await kafka.admin(), destinations: [crm], replication: 1 });
    producer = await kafka.producer();

    ownerServer = await startInternalServer({ host: '127.0.0.1', port: 0, tokens, readiness: [], logger: silent });
    const callers = ['operator'];
    ownerServer.route('/internal/v1/deliveries:history', { callers, body: historyRequest }, async ({ items }) => ({
      items: await owner.histories(items),
    }));
    ownerServer.route('/internal/v1/deliveries:state', { callers, body: statesRequest }, async ({ items }) => {
      const found = await owner.states(items.map(({ event_id, destination = '' }) => ({ event_id, destination })));
      return { items: items.map(({ event_id }, index) => ({ event_id, deliveries: [found[index]].filter(Boolean) })) };
    });
    ownerServer.route('/internal/v1/deliveries:unresolved', { callers, body: unresolvedRequest }, ({ after }) => owner.unresolved(after));

    const named = z.object({ event_id: z.uuid(), destination: z.string(), item_id: z.uuid().optional() });
    const some = { callers, body: z.object({ items: z.array(named), within_ms: z.number().optional() }) };
    const known = async (items: z.infer<typeof named>[]) => {
      const found = await owner.histories(items);
      return items.map(({ event_id }) => found.find((one) => one.event_id === event_id));
    };
    ownerServer.route('/internal/v1/replay-items:facts', some, async ({ items }) => ({
      items: (await known(items)).map((one) => one && { ...one, lead_ref: 'L-1', lookup: ['lead'] }),
    }));
    // Whatever is delivered was so by the item.
    ownerServer.route('/internal/v1/replay-items:state', some, async ({ items }) => ({
      items: (await known(items)).map((one, index) => {
        const item = { item_id: items[index]?.item_id, closed: false, raised: false, refs: {} };
        return { ...item, applied: one?.state === 'delivered', state: one?.state };
      }),
    }));
    ownerServer.route('/internal/v1/deliveries:lookup', some, async ({ items }) => ({
      items: (await known(items)).map((one) => ({
        ...one,
        operations: (one?.operations ?? [])
          .filter(({ kind }) => kind === 'lead')
          .map((operation) => ({ ...operation, result: one?.state === 'delivered' ? 'found' : 'absent' })),
      })),
    }));
    ownerServer.route('/internal/v1/destinations:state', { callers, body: z.object({}) }, () => owner.destinations());

    const ownerUrl = `http://127.0.0.1:${ownerServer.port}`;
    const [port, httpPort] = [await freePort(), await freePort()];
    internal = `http://127.0.0.1:${port}`;
    url = `http://127.0.0.1:${httpPort}`;
    const env = z.object({ ...baseEnv, ...operatorEnv }).parse({
      LD_SITE_FILE: 'unused',
      LD_SECRETS_DIR: secretsDir,
      DATABASE_URL: database.url,
      KAFKA_BROKERS: kafkaBrokers,
      KAFKA_SESSION_TIMEOUT_MS: '6000',
      INTERNAL_PORT: String(port),
      HTTP_PORT: String(httpPort),
      INTERNAL_URLS: JSON.stringify({ 'crm-writer': ownerUrl, notifier: ownerUrl }),
      FOLLOW_MS: '200',
    });
    const telemetry = startTelemetry({ service: 'operator', ratio: 1 });
    // Long enough that the check is not what finds a letter that came by its topic.
    const patience = { lateAfterMs: 3_000 };
    parts = await startOperator({ env, site, logger: silent, telemetry, signal: new AbortController().signal }, patience);
    replayed = createGroupConsumer({
      kafka,
      group: uniqueName('replays'),
      topics: [replay],
      sessionTimeoutMs: 30_000,
      onReceipts: (receipts) => replays.push(...receipts.map(({ record }) => record)),
      logger: silent,
    });
    await replayed.start();
  });
  afterAll(async () => {
    for (const part of [...parts].reverse()) await part.stop();
    await replayed?.stop(0);
    await ownerServer?.stop();
    await kafka?.close();
    await database?.drop();
  });

  const ask = async (path: string, body?: unknown, key = personKey) => {
    const response = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as { items: Record<string, unknown>[] } & Record<string, unknown> };
  };
  const die = async () => {
    const lead = leadAccepted({ destinations: [crm] });
    owner.add({ ...historyOf(lead), destination: crm });
    const texts = deadLetterHeaders(lead, { [headers.destinations]: crm });
    await producer.send([{ topic: dlq, key: Buffer.from('person'), value: codec.encode(LeadAcceptedEvent, lead), headers: texts }]);
    return lead;
  };

  it('takes a dead letter from its topic, shows it, and sends its approved item once the person says so', async () => {
    const lead = await die();
    const shown = await eventually('the dead letter', async () => (await ask(`/v1/dead-letters/${lead.event_id}`)).json.items[0], {
      timeoutMs: 60_000,
    });
    expect(shown).toMatchObject({
      destination: crm,
      class: 'attempts_exhausted',
      provider_request_id: 'req-3',
      endpoint: 'https://crm.example.test/',
    });
    expect((await ask(`/v1/dead-letters?destination=${crm}`)).json.items).toHaveLength(1);

    const approval = await ask('/v1/items/approve', { new_deadline: '4h', select: { destination: crm }, max: 10 });
    expect(approval).toMatchObject({ status: 200, json: { approved: 1 } });
    await eventually('the record on the replay topic', () => replays.length === 1, { timeoutMs: 60_000 });
    const operator = internalClient({ baseUrl: internal, token: loadInternalTokens(secretsDir)['crm-writer'] ?? '', timeoutMs: 2_000 });
    const gate = openReplayGate({ secretsDir, operator, logger: silent });
    const verdict: ReplayVerdict = await gate.admit(replays[0] as ConsumedRecord);
    expect(verdict).toMatchObject({ kind: 'item', permit: { eventId: lead.event_id, destination: crm, batchId: approval.json.batch_id } });

    owner.add({ ...historyOf(lead, { state: 'delivered' }), destination: crm });
    await eventually(
      'the batch to finish',
      async () => (await ask(`/v1/batches/${String(approval.json.batch_id)}`)).json.state === 'finished',
    );
    await eventually(
      'the letter to close',
      async () => (await ask(`/v1/dead-letters?destination=${crm}&state=closed`)).json.items.length === 1,
    );
    expect(await ask(`/v1/batches/${String(approval.json.batch_id)}`)).toMatchObject({
      json: { approver: 'ada', policy: 'single_operator', counts: { succeeded: 1 }, canary: { verified: 1 } },
    });
    await operator.close();

    // Whoever is on duty may stop it, also who may only ask or only approve; somebody who only looks may not.
    const batch = `/v1/batches/${String(approval.json.batch_id)}`;
    expect(await ask(`${batch}/stop`, {}, keys.viewer)).toMatchObject({
      status: 403,
      json: { type: 'urn:lead-delivery:problem:forbidden' },
    });
    for (const role of ['operator', 'approver']) {
      expect(await ask(`${batch}/stop`, {}, keys[role])).toMatchObject({
        status: 409,
        json: { type: 'urn:lead-delivery:problem:batch-ended' },
      });
    }
    expect(await ask('/v1/batches', { filter: { destination: crm }, reason: 'mended' }, keys.approver)).toMatchObject({ status: 403 });
    expect(await ask(`${batch}/resume`, {}, keys.operator)).toMatchObject({ status: 403 });
    expect(await ask(`${batch}/resume`, {}, keys.approver)).toMatchObject({ status: 422 });
    expect(await ask(`${batch}/resume`, { reason: 'they are back' }, keys.approver)).toMatchObject({ status: 409 });
    const csv = await fetch(`${url}${batch}/items.csv`, { headers: { authorization: `Bearer ${keys.viewer}` } });
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect((await csv.text()).split('\r\n')[1]).toContain(`,${crm},demo,eligible,succeeded,`);
  });

  it('finds a dead letter that never came by its topic', async () => {
    const lead = leadAccepted({ destinations: [crm] });
    const event = codec.encode(LeadAcceptedEvent, lead).toString('base64');
    const { submitted_at, deadline_at } = owner.add({ ...historyOf(lead, { event }), destination: crm });
    const item = { event_id: lead.event_id, destination: crm, state: 'dead' as const, class: 'permanent', lead_ref: lead.lead_ref };
    owner.unresolvedItems = [{ ...item, generation: 1, since: new Date().toISOString(), submitted_at, deadline_at }];
    const found = await eventually('the letter', async () => (await ask(`/v1/dead-letters/${lead.event_id}`)).json.items[0], {
      timeoutMs: 60_000,
    });
    expect(found).toMatchObject({ found_by: 'check', class: 'permanent' });
  });

  it('lets nobody in without a key, names what is wrong, and tells depth and ages', async () => {
    expect((await ask('/v1/dead-letters', undefined, 'another-key-of-16-chars')).status).toBe(401);
    expect((await ask('/v1/nothing')).status).toBe(404);
    expect((await ask('/v1/batches/0189')).status).toBe(422);
    const refused = await ask('/v1/items/approve', { new_deadline: '4h', select: {}, approver: 'eve' });
    expect(refused).toMatchObject({ status: 422, json: { type: 'urn:lead-delivery:problem:invalid' } });
    const telling = await ask('/v1/items/approve', { new_deadline: '4h', select: { destination: crm }, reason: 'ring +1 202 555 0123' });
    expect(telling).toMatchObject({ status: 422, json: { errors: [{ field: 'reason', fix: expect.stringContaining('Leave it out') }] } });
    expect(JSON.stringify(telling)).not.toContain('555 0123');
    const page = await (await fetch(`${internal}/metrics`)).text();
    expect(page).toMatch(new RegExp(`leads_dead_letters_total\\{destination="${crm}",error_class="attempts_exhausted"\\} 1`));
    expect(page).toMatch(new RegExp(`leads_dead_letters_open\\{destination="${crm}",error_class="permanent"\\} 1`));
    expect(page).toMatch(
      new RegExp(`leads_dead_letter_oldest_age_seconds\\{destination="${crm}",error_class="permanent",since="submitted"\\} \\d\\d`),
    );
  });

  it('tells of batches that a rule has paused and of tasks of erasures past their time', async () => {
    const db = await openDatabase({ url: database.url, role: 'ld_operator', schema: 'operator', applicationName: 'spec' });
    await db.sql(
      'spec.paused',
      `INSERT INTO replay_batch (batch_id, state, maximum, selection, why) VALUES (gen_random_uuid(), 'paused', 1, '{}', 'not_read')`,
      [],
    );
    await db.sql(
      'spec.overdue',
      `WITH late AS (
         INSERT INTO erasure (erasure_id, state, kind, subject_keys, organizations, more, hash, author, reason, created_at, expires_at, approved_at)
         SELECT gen_random_uuid(), 'tasks', 'email', '[]', '{demo}', false, '', 'ada', '', past, past, past
         FROM (SELECT clock_now() - interval '8 days' AS past) eight_days RETURNING erasure_id)
       INSERT INTO erasure_task (task_id, erasure_id, service, destination, kind, ref)
       SELECT gen_random_uuid(), erasure_id, 'crm-writer', $1, 'lead', 'R-1' FROM late`,
      [crm],
    );
    await db.close();
    const page = await (await fetch(`${internal}/metrics`)).text();
    expect(page).toMatch(/^leads_replay_batches_halted\{state="paused",reason="not_read"\} 1$/m);
    expect(page).toMatch(new RegExp(`^leads_erasure_tasks_overdue\\{destination="${crm}"\\} 1$`, 'm'));
  });
});
