import { createHash, randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import pg from 'pg';
import type { Database } from '#runtime';
import { eventually, openTcpProxy, type TcpProxy, type TestDatabase, testDatabase } from '#testkit';
import { acceptTools, openIntakeDatabase, silent, site, source } from '../../test/fixture.js';
import { startDoors } from '../../test/start-doors.js';

/** The HTTP door while PostgreSQL cannot be reached, in each way in which it can be out of reach. */
jest.setTimeout(120_000);

let database: TestDatabase;
let network: TcpProxy;
let db: Database;
let owner: pg.Client;
let app: NestFastifyApplication;
let base: string;

beforeAll(async () => {
  database = await testDatabase('intake_gone');
  const direct = new URL(database.url);
  network = await openTcpProxy({ target: { host: direct.hostname, port: Number(direct.port) } });
  const proxied = new URL(database.url);
  proxied.host = `${network.host}:${network.port}`;
  db = await openIntakeDatabase(proxied.href);
  owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  const keyHashes = [`sha256:${createHash('sha256').update('key').digest('hex')}`];
  const tools = acceptTools(db, { site: site({ sources: [source({ keyHashes })] }) });
  ({ app, url: base } = await startDoors({ db, tools, logger: silent }));
});
afterAll(async () => {
  await network?.heal();
  await app?.close();
  await db?.close();
  await owner?.end();
  await network?.close();
  await database?.drop();
});
afterEach(() => network.heal());

interface Answer {
  status: number;
  retryAfter: string | null;
  type: string | null;
  body: Record<string, unknown>;
}

async function request(path: string, lead?: object): Promise<Answer> {
  const response = await fetch(`${base}${path}`, {
    headers: { authorization: 'Bearer key', ...(lead && { 'content-type': 'application/json' }) },
    ...(lead && { method: 'POST', body: JSON.stringify(lead) }),
  });
  const type = response.headers.get('content-type');
  const body = (await response.json()) as Record<string, unknown>;
  return { status: response.status, retryAfter: response.headers.get('retry-after'), type, body };
}

const post = (lead: object) => request('/v1/leads', lead);
const newLead = () => ({
  source_event_id: `gone-${randomBytes(8).toString('hex')}`,
  form: 'contact',
  campaign: 'autumn',
  contact: { name: 'Ada Example', email: 'ada@example.test', phone: '+12025550123' },
  message: 'Please call me',
  consent: { given: true, at: '2026-01-31T09:30:00Z' },
});

/** Rows that belong to leads, seen past the network that is at fault. */
async function rows(): Promise<Record<string, number>> {
  const { rows: counted } = await owner.query(
    `select (select count(*)::int from intake.lead) as leads, (select count(*)::int from intake.delivery) as deliveries,
      (select count(*)::int from intake.vault) as vault, (select count(*)::int from intake.outbox) as outbox`,
  );
  return counted[0];
}

const unavailable = {
  status: 503,
  retryAfter: expect.stringMatching(/^[1-9]\d*$/),
  type: expect.stringMatching(/^application\/problem\+json/),
  body: expect.objectContaining({ status: 503, type: expect.stringMatching(/:unavailable$/) }),
};

/** When the contract wants an answer at the latest, and less than the database's client waits: without the door's own limit these would be 202. */
const tooLateMs = 3_000;

it.each<{ how: string; begin: () => unknown; reached: boolean }>([
  { how: 'refuses connections and has cut those that there were', begin: () => network.refuse(), reached: false },
  { how: 'hangs', begin: () => network.blackhole(), reached: false },
  { how: 'is reached and answers too late', begin: () => network.delay(tooLateMs), reached: true },
])(
  'case 20: while PostgreSQL $how, everything is answered 503 with a time to wait, and the same keys are taken once it is back',
  async ({ begin, reached }) => {
    const known = await eventually('a lead from before', async () => {
      const answer = await post(newLead());
      return answer.status === 202 ? answer.body : undefined;
    });
    const before = await rows();
    const leads = Array.from({ length: 20 }, newLead);
    const reads = [
      ...Array.from({ length: 3 }, () => `/v1/leads/${String(known.event_id)}`),
      ...leads.slice(0, 2).map(({ source_event_id }) => `/v1/leads?source_event_id=${source_event_id}`),
    ];

    await begin();
    const answers = await Promise.all([...leads.map(post), ...reads.map((path) => request(path))]);
    expect(answers).toEqual(answers.map(() => unavailable));
    if (!reached) expect(await rows()).toEqual(before);

    await network.heal();
    const taken = await Promise.all(
      leads.map((lead) =>
        eventually('the same lead to be accepted', async () => {
          const answer = await post(lead);
          return answer.status === 202 ? answer.body : undefined;
        }),
      ),
    );
    expect(new Set(taken.map(({ event_id }) => event_id)).size).toBe(leads.length);
    const whole = { leads: leads.length, deliveries: 2 * leads.length, vault: leads.length, outbox: leads.length };
    const after = await rows();
    expect(Object.fromEntries(Object.entries(after).map(([table, count]) => [table, count - (before[table] ?? 0)]))).toEqual(whole);
    expect(await request(reads[0] ?? '')).toMatchObject({ status: 200, body: { event_id: known.event_id } });
  },
);
