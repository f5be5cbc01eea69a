import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import pg from 'pg';
import { statesRequest } from '#delivery';
import { createLogger, type Database, type InternalServer, internalClient, metrics, startInternalServer } from '#runtime';
import { eventually, type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, openIntakeDatabase, silent, site, source, submission } from '../../test/fixture.js';
import { startDoors } from '../../test/start-doors.js';
import type { AcceptTools } from '../accept-leads.js';
import { askOwnersWithinMs } from '../open-doors.js';
import { HttpAcceptance } from './http-acceptance.js';

const hash = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`;
const config = site({
  sources: [
    source({ keyHashes: [hash('key-one'), hash('key-two')] }),
    source({ id: 'partner', keyHashes: [hash('key-partner')] }),
    source({ id: 'slow', keyHashes: [hash('key-slow')], requestsPerSecond: 2 }),
  ],
});

/** Real servers on a busy machine. */
jest.setTimeout(60_000);

let database: TestDatabase;
let db: Database;
let owner: pg.Client;
let tools: AcceptTools;
let app: NestFastifyApplication;
let base: string;
const lines: string[] = [];
/** What the fake owners do with a question; by default they know nothing. */
let answerOwners: (items: { event_id: string }[]) => Promise<unknown>;
let owners: InternalServer;

beforeAll(async () => {
  database = await testDatabase('intake_http');
  db = await openIntakeDatabase(database.url);
  owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  tools = acceptTools(db, { site: config });
  owners = await startInternalServer({
    host: '127.0.0.1',
    port: 0,
    tokens: { intake: 'intake-token-16chars' },
    readiness: [],
    logger: silent,
  });
  owners.route('/internal/v1/deliveries:state', { callers: ['intake'], body: statesRequest }, ({ items }) => answerOwners(items));
  const client = () =>
    internalClient({ baseUrl: `http://127.0.0.1:${owners.port}`, token: 'intake-token-16chars', timeoutMs: askOwnersWithinMs });
  const doors = await startDoors({
    db,
    tools,
    logger: createLogger('intake', 'info', { write: (line) => lines.push(line) }),
    owners: { 'crm-writer': client(), notifier: client() },
    bodyLimitBytes: 50_000,
  });
  app = doors.app;
  base = doors.url;
});
afterAll(async () => {
  await app?.close();
  await owners?.stop();
  await owner?.end();
  await db?.close();
  await database?.drop();
});
afterEach(() => {
  answerOwners = async (items) => ({ items: items.map(({ event_id }) => ({ event_id, deliveries: [] })) });
});
answerOwners = async (items) => ({ items: items.map(({ event_id }) => ({ event_id, deliveries: [] })) });

const newId = () => `web-${randomBytes(8).toString('hex')}`;
const body = (changes: object = {}) => ({
  source_event_id: newId(),
  form: 'contact',
  campaign: 'autumn',
  contact: { name: 'Ada Example', email: 'ada@example.test', phone: '+12025550123' },
  message: 'Please call me',
  consent: { given: true, at: '2026-01-31T09:30:00Z' },
  ...changes,
});
interface Answer {
  status: number;
  headers: Headers;
  json: Record<string, unknown> & { errors?: { field: string; problem: string; fix: string }[] };
}
async function request(path: string, init: RequestInit & { key?: string } = {}): Promise<Answer> {
  const response = await fetch(`${base}${path}`, {
    ...init,
    headers: {
      authorization: `Bearer ${init.key ?? 'key-one'}`,
      ...(init.body !== undefined && { 'content-type': 'application/json' }),
      ...init.headers,
    },
  });
  const text = await response.text();
  answered.add(`${init.method ?? 'GET'} ${path.startsWith('/v1/leads/') ? '/v1/leads/{event_id}' : path.split('?')[0]} ${response.status}`);
  return { status: response.status, headers: response.headers, json: text === '' ? {} : JSON.parse(text) };
}
const post = (content: unknown, init: RequestInit & { key?: string } = {}) =>
  request('/v1/leads', {
    method: 'POST',
    body: typeof content === 'string' || content instanceof Uint8Array ? content : JSON.stringify(content),
    ...init,
  });
/** Every operation and status that a test of this file has seen. */
const answered = new Set<string>();
/** A request to hand in a lead, as bytes on a connection that stays. */
function rawPost(content: object): string {
  const json = JSON.stringify(content);
  const head = ['POST /v1/leads HTTP/1.1', 'Host: x', 'Authorization: Bearer key-one', 'Content-Type: application/json'];
  return [...head, `Content-Length: ${Buffer.byteLength(json)}`, '', json].join('\r\n');
}
const fieldsOf = ({ json }: Answer) => json.errors?.map(({ field }) => field);

function expectProblem(answer: Answer, status: number, type: string): void {
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  expect(answer.json).toMatchObject({ status, type: expect.stringMatching(new RegExp(`(^|:)${type}$`)), title: expect.any(String) });
}

describe('POST /v1/leads', () => {
  it('answers 202 with event id, reference, place and trace', async () => {
    const answer = await post(body(), { headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' } });
    expect(answer.status).toBe(202);
    expect(answer.json).toEqual({ event_id: expect.any(String), lead_ref: expect.any(String), status: 'accepted' });
    expect(answer.headers.get('location')).toBe(`/v1/leads/${String(answer.json.event_id)}`);
    expect(answer.headers.get('idempotency-replayed')).toBeNull();
    expect(answer.headers.get('traceresponse')).toContain('0af7651916cd43dd8448eb211c80319c');
    const saved = await owner.query('select traceparent from intake.lead where event_id = $1', [answer.json.event_id]);
    expect(saved.rows[0].traceparent).toContain('0af7651916cd43dd8448eb211c80319c');
  });

  it('gives the stored answer to a repeat, and says so', async () => {
    const lead = body();
    const first = await post(lead);
    const again = await post(JSON.stringify(Object.fromEntries(Object.entries(lead).reverse())), { key: 'key-two' });
    expect(again.status).toBe(202);
    expect(again.json).toEqual(first.json);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  it('makes one lead of fifty identical posts at once', async () => {
    const lead = body();
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(lead)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(new Set(answers.map(({ json }) => json.event_id)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1);
  });

  it('takes the Idempotency-Key for the id, and refuses two that differ on both fields', async () => {
    const id = newId();
    const { source_event_id: _, ...without } = body();
    const first = await post(without, { headers: { 'idempotency-key': id } });
    expect(first.status).toBe(202);
    expect((await post({ ...without, source_event_id: id })).json.event_id).toBe(first.json.event_id);
    const differing = await post({ ...without, source_event_id: id }, { headers: { 'idempotency-key': newId() } });
    expectProblem(differing, 422, 'invalid');
    expect(fieldsOf(differing)).toEqual(['source_event_id', 'Idempotency-Key']);
    expectProblem(await post(without), 400, 'missing-id');
  });

  it('calls other content under a used id a conflict', async () => {
    const lead = body();
    const first = await post(lead);
    const answer = await post({ ...lead, message: 'Something else' });
    expectProblem(answer, 422, 'idempotency-conflict');
    expect(answer.json.event_id).toBe(first.json.event_id);
    expect(fieldsOf(answer)).toEqual(['source_event_id']);
  });

  it('names in a conflict the id that was sent: the header alone, or the body where both were', async () => {
    const { source_event_id: id, ...without } = body();
    const byHeader = { headers: { 'idempotency-key': id } };
    expect((await post(without, byHeader)).status).toBe(202);
    const changed = { ...without, message: 'Something else' };
    expect(fieldsOf(await post(changed, byHeader))).toEqual(['Idempotency-Key']);
    expect(fieldsOf(await post({ ...changed, source_event_id: id }, byHeader))).toEqual(['source_event_id']);
  });

  it.each(['', 'key-one', 'Bearer', 'Bearer wrong', 'Basic a2V5LW9uZTo='])('refuses the authorization "%s"', async (authorization) => {
    const answer = await post(body(), { headers: { authorization } });
    expectProblem(answer, 401, 'unauthorized');
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  });

  it('refuses what is not JSON, not declared as JSON, or too large', async () => {
    expectProblem(await post('{"contact":'), 400, 'malformed');
    expectProblem(await post(''), 400, 'malformed');
    expectProblem(await post(Buffer.from('{"message":"\xff"}', 'latin1')), 400, 'malformed');
    expectProblem(await post(body(), { headers: { 'content-type': 'text/plain' } }), 415, 'unsupported-media-type');
    const tooLarge = await post(body({ message: 'x'.repeat(60_000) }));
    expectProblem(tooLarge, 413, 'too-large');
    expect(tooLarge.json.errors?.[0]?.fix).toContain('50000');
    expect(Number(tooLarge.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('refuses a body that names a field twice, by the name', async () => {
    const text = JSON.stringify(body()).replace('"email":', '"email":"bob@example.test","email":');
    const answer = await post(text);
    expectProblem(answer, 400, 'repeated-field');
    expect(fieldsOf(answer)).toEqual(['contact.email']);
    expect(JSON.stringify(answer.json)).not.toContain('example.test');
  });

  it('refuses a compressed body as what it is', async () => {
    const answer = await post(gzipSync(JSON.stringify(body())), { headers: { 'content-encoding': 'gzip' } });
    expectProblem(answer, 415, 'unsupported-content-encoding');
    expect(answer.headers.get('accept-encoding')).toBe('identity');
    expect((await post(body(), { headers: { 'content-encoding': 'identity' } })).status).toBe(202);
  });

  it('says which methods there are', async () => {
    const ask = async (method: string, path: string, key = 'key-one') => {
      const response = await fetch(`${base}${path}`, { method, headers: { authorization: `Bearer ${key}` } });
      return [response.status, response.headers.get('allow')];
    };
    expect(await ask('PUT', '/v1/leads')).toEqual([405, 'GET, HEAD, POST']);
    expect(await ask('DELETE', '/v1/leads?x=1')).toEqual([405, 'GET, HEAD, POST']);
    expect(await ask('PATCH', '/v1/leads/0190aaaa-0000-7000-8000-000000000000')).toEqual([405, 'GET, HEAD']);
    expect(await ask('POST', '/v1/leads/0190aaaa-0000-7000-8000-000000000000')).toEqual([405, 'GET, HEAD']);
    expect(await ask('HEAD', '/v1/leads/0190aaaa-0000-7000-8000-000000000000')).toEqual([404, null]);
    expect(await ask('DELETE', '/v1/leads', 'wrong')).toEqual([401, null]);
    expect(await ask('DELETE', '/v1/nothing')).toEqual([404, null]);
  });

  it('names every invalid field with its fix and repeats no value', async () => {
    const answer = await post(
      body({
        contact: { name: 'Quince\u0000', email: 'quince at example', phone: 'quagga' },
        submitted_at: '2999-01-01T00:00:00Z',
        extra: 'okapi',
      }),
    );
    expectProblem(answer, 422, 'invalid');
    expect(JSON.stringify(answer.json)).not.toMatch(/quince|quagga|okapi/i);
    const known = await post(body({ contact: { name: 'Quince\u0000', email: 'quince at example', phone: 'quagga' } }));
    expect(fieldsOf(known)).toEqual(['contact.name', 'contact.email', 'contact.phone']);
    expect(fieldsOf(await post(body({ submitted_at: '2999-01-01T00:00:00Z' })))).toEqual(['submitted_at']);
    for (const error of known.json.errors ?? []) expect(error.fix).not.toBe('');
  });

  it('case 12: carries hostile text whole or refuses it by name, and leaves its neighbours alone', async () => {
    const posts: [unknown, number][] = [
      [body({ contact: { name: 'A\u0000b' } }), 422],
      [body({ message: `${'a'.repeat(19_999)}😀` }), 202],
      [JSON.stringify(body({ message: 'MARK' })).replace('MARK', '\\ud83d'), 422],
      [body({ contact: { name: '👩‍👩‍👧‍👦' } }), 202],
      [body({ message: '\u200fשלום' }), 202],
      [JSON.stringify(body({ custom: { id: 0 } })).replace('"id":0', '"id":9223372036854775807'), 202],
      [JSON.stringify(body({ custom: { x: 1 } })).replace('"x"', '"__proto__"'), 422],
      [body(), 202],
    ];
    const answers = await Promise.all(posts.map(([content]) => post(content)));
    expect(answers.map(({ status }) => status)).toEqual(posts.map(([, status]) => status));
  });

  it('slows a source down by itself, with the time to wait', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => post(body(), { key: 'key-slow' })));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    for (const answer of refused) {
      expectProblem(answer, 429, 'rate-limited');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    expect((await post(body())).status).toBe(202);
  });

  it('counts a lead by its outcome, and a test lead not at all', async () => {
    const counted = async () => {
      const { values } = await metrics.intakeRequests.get();
      return values.find(({ labels }) => labels.source === 'website' && labels.outcome === 'accepted')?.value ?? 0;
    };
    const before = await counted();
    expect((await post(body({ test: true }))).status).toBe(202);
    expect((await post(body())).status).toBe(202);
    await eventually('the lead to be counted', async () => (await counted()) === before + 1);
  });

  it('writes one line per request, without anything personal', async () => {
    lines.length = 0;
    const answer = await post(body({ contact: { name: 'Quince Zebra', email: 'quince@example.test' }, message: 'Quagga' }));
    const line = await eventually('the line of the request', () => lines.find((one) => one.includes(String(answer.json.event_id))));
    expect(JSON.parse(line)).toMatchObject({ source: 'website', decision: 'accepted', status: 202, trace_id: expect.any(String) });
    expect(lines.join('')).not.toMatch(/quince|zebra|quagga/i);
  });
});

describe('while PostgreSQL is in trouble', () => {
  it('answers 503 with a time to wait while it is slow, and saves all or nothing', async () => {
    const lead = body();
    const saved = await post(body());
    await owner.query('begin');
    await owner.query('lock table intake.vault, intake.lead in access exclusive mode');
    const asked = request(`/v1/leads/${String(saved.json.event_id)}`);
    const answers = await Promise.all([post(lead), post(body()), request(`/v1/leads?source_event_id=${newId()}`), asked]);
    expectProblem(answers[0] as Answer, 503, 'unavailable');
    expectProblem(answers[1] as Answer, 503, 'unavailable');
    expect(answers[0]?.headers.get('retry-after')).toBe('2');
    expect(answers[2]?.status).toBe(404);
    expectProblem(await asked, 503, 'unavailable');
    expect(answers[3].headers.get('retry-after')).toBe('2');
    await owner.query('rollback');
    const again = await eventually('an accepted lead', async () => {
      const answer = await post(lead);
      return answer.status === 202 ? answer : undefined;
    });
    const { rows } = await owner.query(
      `select (select count(*) from intake.lead where event_id = $1)::int as leads, (select count(*) from intake.delivery where event_id = $1)::int as deliveries,
        (select count(*) from intake.vault where lead_ref = $2)::int as vault, (select count(*) from intake.outbox where headers ->> 'ld-event-id' = $1::text)::int as outbox`,
      [again.json.event_id, again.json.lead_ref],
    );
    expect(rows[0]).toEqual({ leads: 1, deliveries: 2, vault: 1, outbox: 1 });
  });

  it('case 20: survives the loss of all its connections', async () => {
    await owner.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'intake-test' and datname = current_database()`,
    );
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(body())));
    for (const answer of answers) expect([202, 503]).toContain(answer.status);
    await eventually('an accepted lead', async () => (await post(body())).status === 202);
  });

  it('case 20: answers everybody from a pool of two', async () => {
    const small = await openIntakeDatabase(database.url, 2);
    const acceptance = new HttpAcceptance(acceptTools(small, { site: config }));
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => {
        const span = tools.telemetry.startSpan('test', { kind: 'server' });
        return acceptance.accept(submission(), { source: source(), span, startedMs: performance.now() });
      }),
    );
    expect(answers.every(({ kind }) => kind === 'accepted')).toBe(true);
    await acceptance.idle();
    await small.close();
  });
});

describe('while the door closes', () => {
  it('case 20: serves a request that is on its way, and ends its connection with the answer', async () => {
    const closing = await startDoors({ db, tools, logger: silent });
    const socket = connect(Number(new URL(closing.url).port), '127.0.0.1');
    const answers = () => text.match(/^(HTTP\/1\.1 .*|connection: .*)(?=\r)/gim);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const ended = once(socket, 'close');
    const begun = rawPost(body());
    // Its beginning is read together with the request before it.
    socket.write(rawPost(body()) + begun.slice(0, 30));
    await eventually('the first answer', () => text.endsWith('}'));
    expect(answers()).toEqual(['HTTP/1.1 202 Accepted', 'Connection: keep-alive']);
    text = '';
    const closed = closing.app.close();
    await eventually('a closed door', () => !closing.app.getHttpServer().listening);
    socket.write(begun.slice(30));
    await Promise.all([closed, ended]);
    expect(answers()).toEqual(['HTTP/1.1 202 Accepted', 'Connection: close']);
  });
});

describe('GET /v1/leads', () => {
  const known = {
    deliveries: [expect.objectContaining({ destination: 'crm', state: 'accepted' }), expect.objectContaining({ destination: 'marketing' })],
  };

  it('shows a lead to its own source, by either id', async () => {
    const lead = body();
    const { json } = await post(lead);
    const byEventId = await request(`/v1/leads/${String(json.event_id)}`);
    expect(byEventId.status).toBe(200);
    expect(byEventId.json).toMatchObject({
      event_id: json.event_id,
      lead_ref: json.lead_ref,
      status: 'accepted',
      notifications: [],
      unreachable: [],
      ...known,
    });
    expect(Date.parse(String(byEventId.json.submitted_at))).not.toBeNaN();
    expect((await request(`/v1/leads?source_event_id=${lead.source_event_id}`)).json).toEqual(byEventId.json);
  });

  it('is answered to all who ask at once, however few connections there are, and hardly any of them waits for one', async () => {
    const { json } = await post(body());
    const small = await openIntakeDatabase(database.url, 2);
    const { master } = small.dataSource.driver as unknown as { master: pg.Pool };
    const waiting: number[] = [];
    const connect = master.connect.bind(master) as (...args: unknown[]) => unknown;
    jest.spyOn(master, 'connect').mockImplementation((...args: unknown[]) => {
      waiting.push(master.waitingCount);
      return connect(...args) as never;
    });
    const doors = await startDoors({ db: small, tools: { ...tools, db: small }, logger: silent });
    try {
      const ask = async () => {
        const response = await fetch(`${doors.url}/v1/leads/${String(json.event_id)}`, { headers: { authorization: 'Bearer key-one' } });
        return [response.status, ((await response.json()) as { event_id: string }).event_id];
      };
      const answers = await Promise.all(Array.from({ length: 140 }, ask));
      expect(answers).toEqual(Array.from({ length: 140 }, () => [200, json.event_id]));
      // The lead, its refusals, what was told of it, and keeping that: one of each at a time.
      expect(Math.max(...waiting)).toBeLessThan(4);
    } finally {
      await doors.app.close();
      await small.close();
    }
  });

  it('does not know the leads of another source, nor what is no lead', async () => {
    const lead = body();
    const { json } = await post(lead);
    expectProblem(await request(`/v1/leads/${String(json.event_id)}`, { key: 'key-partner' }), 404, 'not-found');
    expectProblem(await request(`/v1/leads?source_event_id=${lead.source_event_id}`, { key: 'key-partner' }), 404, 'not-found');
    expectProblem(await request('/v1/leads/0190aaaa-0000-7000-8000-000000000000'), 404, 'not-found');
    expectProblem(await request('/v1/leads/not-an-id'), 404, 'not-found');
    expectProblem(await request('/v1/leads'), 400, 'invalid-query');
    expectProblem(await request('/v1/nothing'), 404, 'not-found');
    expectProblem(await request('/v1/leads?source_event_id=a&source_event_id=b'), 400, 'invalid-query');
    expectProblem(await request(`/v1/leads/${'x'.repeat(5_000)}`), 400, 'bad-request');
    const malformed = await request('/v1/leads/%quagga');
    expectProblem(malformed, 400, 'bad-request');
    expect(JSON.stringify(malformed.json)).not.toContain('quagga');
    expectProblem(await request(`/v1/leads/${String(json.event_id)}`, { headers: { authorization: '' } }), 401, 'unauthorized');
  });

  it('says what the owners say now', async () => {
    const { json } = await post(body());
    answerOwners = async (items) => ({
      items: items.map(({ event_id }) => ({
        event_id,
        deliveries: [
          {
            destination: 'crm',
            state: 'delivered',
            as_of: '2026-01-31T09:30:00.000Z',
            operations: [{ kind: 'lead', state: 'succeeded', ref: 'r-1', operation_key: 'k', attempts: 1 }],
          },
        ],
        notifications: [{ channel: 'sales', template: 'delivered', state: 'uncertain', as_of: '2026-01-31T09:30:00.000Z' }],
      })),
    });
    const answer = await request(`/v1/leads/${String(json.event_id)}`);
    expect(answer.json.deliveries).toEqual([
      {
        destination: 'crm',
        state: 'delivered',
        as_of: '2026-01-31T09:30:00.000Z',
        operations: [{ kind: 'lead', state: 'succeeded', ref: 'r-1' }],
      },
      expect.objectContaining({ destination: 'marketing', state: 'accepted' }),
    ]);
    expect(answer.json.notifications).toEqual([{ channel: 'sales', template: 'delivered', state: 'uncertain' }]);
  });

  it('gives the last known where an owner does not answer, and says which', async () => {
    const { json } = await post(body());
    answerOwners = () => new Promise((resolve) => setTimeout(resolve, 2_000));
    const answer = await request(`/v1/leads/${String(json.event_id)}`);
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ ...known, notifications: [], unreachable: ['crm-writer', 'notifier'] });
  });

  it('gives the notifications as they were last heard, with the time, where the notifier does not answer', async () => {
    const { json } = await post(body());
    const url = `/v1/leads/${String(json.event_id)}`;
    const told = (state: string, as_of: string) => ({ channel: 'sales', template: 'delivered', state, as_of });
    const notifierSays = (notification: ReturnType<typeof told>): void => {
      answerOwners = async (items) => ({
        items: items.map(({ event_id }) => ({ event_id, deliveries: [], notifications: [notification] })),
      });
    };
    const ask = async () => (await request(url)).json;
    const away: typeof answerOwners = () => new Promise((resolve) => setTimeout(resolve, 2_000));
    notifierSays(told('in_flight', '2026-01-31T09:30:00.000Z'));
    expect((await ask()).notifications).toEqual([{ channel: 'sales', template: 'delivered', state: 'in_flight' }]);
    notifierSays(told('succeeded', '2026-01-31T09:30:01.000Z'));
    await ask();
    // Asked earlier, answered later.
    notifierSays(told('in_flight', '2026-01-31T09:30:00.500Z'));
    await ask();
    answerOwners = away;
    expect(await ask()).toMatchObject({
      notifications: [told('succeeded', '2026-01-31T09:30:01.000Z')],
      unreachable: expect.arrayContaining(['notifier']),
    });
  });
});

describe('GET /openapi.json', () => {
  it('needs no key', async () => {
    const response = await fetch(`${base}/openapi.json`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ openapi: '3.1.0' });
  });

  it('lists every answer that the tests above were given', async () => {
    const { paths } = (await (await fetch(`${base}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
    };
    const seen = [...answered].filter((one) => one.includes(' /v1/leads'));
    const unlisted = seen.filter((one) => {
      const [method = '', path = '', status = ''] = one.split(' ');
      return paths[path]?.[method.toLowerCase()]?.responses[status] === undefined;
    });
    expect(seen.length).toBeGreaterThan(10);
    expect(unlisted).toEqual([]);
  });
});
