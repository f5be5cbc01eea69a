import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { loadPermitPrivateKey } from '#delivery';
import { type Database, type InternalServer, internalClient, loadInternalTokens, type Site, startInternalServer } from '#runtime';
import { type TestDatabase, testDatabase } from '#testkit';
import { courseOf } from '../../test/leads-rig.js';
import { PretendIntake } from '../../test/pretend-intake.js';
import { PretendReconciler } from '../../test/pretend-reconciler.js';
import { openReplayRig } from '../../test/replay-rig.js';
import { codec, leadAccepted, openOperatorDatabase, PretendOwner, silent } from '../../test/rig.js';
import type { AreaTools } from '../area.js';
import { openAreas } from '../areas.js';
import { auditRefusals } from '../audit/audit-refusals.js';
import { createApp } from '../http/create-app.js';
import type { OpenApi } from '../openapi/openapi.js';
import { permissions } from './permissions.js';
import type { Person } from './person.js';

jest.setTimeout(60_000);

const site = {
  sources: [
    { id: 'website', organization: 'demo' },
    { id: 'website', organization: 'other' },
  ],
  routing: [
    { match: { organization: 'demo' }, destinations: ['crm'], policy: 'default' },
    { match: { organization: 'other' }, destinations: ['others-crm'], policy: 'default' },
  ],
  destinations: { crm: { name: 'crm', primary: true }, 'others-crm': { name: 'others-crm', primary: true } },
  policies: { default: { name: 'default', attempts: 4, deadlineMs: 60_000, maxAgeMs: 7 * 86_400_000 } },
  channels: {},
  owners: {},
  operator: { policies: { singleOperator: { max: 50 } } },
} as unknown as Site;

/** May do everything, with the leads of one organization. */
const personOf = (organization: string): Person => {
  return { subject: `boss-${organization}`, name: organization, roles: ['admin'], permissions, organizations: [organization] };
};

const secretsDir = mkdtempSync(join(tmpdir(), 'other-organization-'));
let database: TestDatabase;
let db: Database;
let server: InternalServer;
let app: NestFastifyApplication;
let clients: Map<string, ReturnType<typeof internalClient>>;
let ids: Record<string, string>;
const hash = '0a'.repeat(32);
const sql = <R>(text: string, values: unknown[] = []) => db.sql<R>(createHash('sha1').update(text).digest('hex'), text, values);

async function seed(intake: PretendIntake, reconciler: PretendReconciler): Promise<Record<string, string>> {
  const lead = leadAccepted({ organization: 'demo' });
  intake.courses.set(lead.event_id, courseOf(lead));
  await openReplayRig(db).dead(lead);
  const [letter] = await sql<{ dead_letter_id: string }>('SELECT dead_letter_id FROM dead_letter');
  const found = {
    event_id: lead.event_id,
    dead_letter_id: letter?.dead_letter_id ?? '',
    batch_id: randomUUID(),
    erasure_id: randomUUID(),
    task_id: randomUUID(),
    correction_id: randomUUID(),
    name: 'crm',
    run_id: reconciler.ran({ state: 'running' }).run_id,
    discrepancy_id: reconciler.found({ event_id: lead.event_id }).discrepancy_id,
  };
  await sql(
    `INSERT INTO replay_batch (batch_id, state, selection, maximum, author, hash, organizations, items) VALUES ($1, 'checked', '{}', 1, 'ada', $2, '{demo}', 1)`,
    [found.batch_id, hash],
  );
  await sql(
    `INSERT INTO replay_item (batch_id, item_id, dead_letter_id, event_id, destination, service, state, checked_at, organization)
     VALUES ($1, gen_random_uuid(), $2, $3, 'crm', 'crm-writer', 'listed', now(), 'demo')`,
    [found.batch_id, found.dead_letter_id, found.event_id],
  );
  await sql(
    `INSERT INTO erasure (erasure_id, state, kind, subject_keys, organizations, more, hash, author, reason, created_at, expires_at)
     VALUES ($1, 'draft', 'event_id', '[]', '{demo}', false, $2, 'ada', 'asked', now(), now() + interval '1 day')`,
    [found.erasure_id, hash],
  );
  await sql(
    `INSERT INTO erasure_task (task_id, erasure_id, service, destination, kind, ref) VALUES ($1, $2, 'crm-writer', 'crm', 'lead', 'L-1')`,
    [found.task_id, found.erasure_id],
  );
  await sql(
    `INSERT INTO correction (correction_id, state, event_id, destination, service, organization, lead_ref, revision, fields, generation, operations, hash,
       author, reason, created_at, expires_at)
     VALUES ($1, 'draft', $2, 'crm', 'crm-writer', 'demo', 'ref', 2, '{name}', 2, '[]', $3, 'ada', 'typo', now(), now() + interval '1 day')`,
    [found.correction_id, found.event_id, hash],
  );
  return found;
}

beforeAll(async () => {
  execFileSync(process.execPath, ['deploy/make-secrets.mjs', secretsDir]);
  const tokens = loadInternalTokens(secretsDir);
  database = await testDatabase('other_organization');
  db = await openOperatorDatabase(database.url);
  const intake = new PretendIntake();
  server = await startInternalServer({ host: '127.0.0.1', port: 0, tokens, readiness: [], logger: silent });
  intake.serve(server);
  const reconciler = new PretendReconciler();
  reconciler.serve(server);
  const baseUrl = `http://127.0.0.1:${server.port}`;
  clients = new Map(
    ['intake', 'crm-writer', 'notifier', 'reconciler'].map((name) => [
      name,
      internalClient({ baseUrl, token: tokens.operator ?? '', timeoutMs: 2_000 }),
    ]),
  );
  const owners = new Map(['crm-writer', 'notifier'].map((name) => [name, new PretendOwner()]));
  const areas = await openAreas({
    env: { LD_SECRETS_DIR: secretsDir, DATABASE_URL: database.url, AUDIT_SEAL_MS: 1_000, FOLLOW_MS: 1_000 } as AreaTools['env'],
    site,
    db,
    codec,
    owners,
    clients,
    privateKey: loadPermitPrivateKey(secretsDir),
    notifications: { listen: () => () => undefined },
    relayWake: () => undefined,
    logger: silent,
  });
  app = await createApp(
    { inbox: {} as never, areas },
    {
      identify: async (authorization) => (authorization === undefined ? undefined : personOf(authorization.replace('Bearer ', ''))),
      onRefused: auditRefusals(db),
      logger: silent,
    },
  );
  await app.init();
  ids = await seed(intake, reconciler);
});
afterAll(async () => {
  await app?.close();
  await Promise.all([...(clients?.values() ?? [])].map((client) => client.close()));
  await server?.stop();
  await db?.close();
  await database?.drop();
  rmSync(secretsDir, { recursive: true });
});

async function ask(organization: string, method: string, url: string, payload?: object) {
  const answer = await app.inject({
    method: method as 'GET',
    url,
    headers: { authorization: `Bearer ${organization}` },
    ...(payload !== undefined && { payload }),
  });
  return { status: answer.statusCode, body: answer.body };
}

const reason = 'because';
/** A body with which somebody of the right organization would get further, by operation; what is not here takes none. */
const bodies: Record<string, () => object> = {
  'POST /v1/dead-letters/{dead_letter_id}/dismiss': () => ({ reason }),
  'POST /v1/batches/{batch_id}/edit': () => ({ rate_per_s: 5 }),
  'POST /v1/batches/{batch_id}/approve': () => ({ hash }),
  'POST /v1/batches/{batch_id}/pause': () => ({ reason }),
  'POST /v1/batches/{batch_id}/resume': () => ({ reason }),
  'POST /v1/leads/{event_id}/reveal': () => ({ reason }),
  'POST /v1/leads/{event_id}/deliveries/lookup': () => ({ destination: 'crm', operation_key: 'k' }),
  'POST /v1/leads/{event_id}/deliveries/evidence': () => ({ destination: 'crm', operation_key: 'k', finding: { kind: 'absent' }, reason }),
  'POST /v1/leads/{event_id}/deliveries/discard': () => ({ destination: 'crm', reason }),
  'POST /v1/leads/{event_id}/consent': () => ({ given: false, reason }),
  'POST /v1/destinations/{name}/hold': () => ({ reason }),
  'POST /v1/destinations/{name}/release': () => ({ reason }),
  'POST /v1/corrections/{correction_id}/approve': () => ({ hash }),
  'POST /v1/erasures/{erasure_id}/approve': () => ({ hash }),
  'POST /v1/reconciliation/runs/{run_id}/stop': () => ({ reason }),
  'POST /v1/reconciliation/discrepancies/{discrepancy_id}/accept': () => ({ reason }),
};
/** Operations that name what they are about in their body, and what they answer when it is not there for the person. */
const named: [string, () => object, (answer: { status: number; body: string }) => void][] = [
  ['/v1/dead-letters/assign', () => ({ ids: [ids.dead_letter_id], assignee: 'boss-other' }), nothingDone],
  ['/v1/dead-letters/note', () => ({ ids: [ids.dead_letter_id], text: 'hello' }), nothingDone],
  ['/v1/dead-letters/disposition', () => ({ ids: [ids.dead_letter_id], disposition: 'investigate', reason }), nothingDone],
  ['/v1/dead-letters/dismiss', () => ({ ids: [ids.dead_letter_id], reason }), notThere],
  ['/v1/batches', () => ({ filter: { event_ids: [ids.event_id] }, reason }), nothingDone],
  ['/v1/items/approve', () => ({ select: { event_ids: [ids.event_id] }, new_deadline: '1h', reason }), nothingDone],
  ['/v1/search', () => ({ text: ids.event_id }), ({ status, body }) => expect([status, itemsOf(body)]).toEqual([200, []])],
  ['/v1/corrections', () => ({ event_id: ids.event_id, destination: 'crm', changes: { name: 'Ada' }, reason }), notThere],
  ['/v1/reconciliation/runs', () => ({ destination: 'crm', from: '2026-01-01T00:00:00Z' }), notThere],
  ['/v1/reconciliation/repairs', () => ({ ids: [ids.discrepancy_id], reason }), nothingDone],
  ['/v1/erasures', () => ({ event_id: ids.event_id, reason }), notThere],
];

const itemsOf = (body: string): unknown => (JSON.parse(body) as { items?: unknown }).items;

function notThere({ status, body }: { status: number; body: string }): void {
  expect({ status, body }).toEqual({ status: 404, body: expect.stringContaining('not-found') });
}
/** Refused, or done to none. */
function nothingDone({ status, body }: { status: number; body: string }): void {
  expect({ status, body }).not.toMatchObject({ status: 422 });
  if (status === 200) expect(Object.values(JSON.parse(body) as object).filter((value) => typeof value === 'number')).toEqual([0]);
  else expect([404, 409]).toContain(status);
}

const everything = async () => {
  const tables = [
    'dead_letter',
    'replay_batch',
    'replay_item',
    'letter_note',
    'erasure',
    'erasure_task',
    'correction',
    'outbox',
    'reveal_grant',
  ];
  const rows = await Promise.all(tables.map((table) => sql<object>(`SELECT to_jsonb(t) AS row FROM ${table} t ORDER BY t::text`)));
  return Object.fromEntries(tables.map((table, index) => [table, rows[index]]));
};

describe('for a person of another organization', () => {
  it('what has an id of its own is not there, by whatever operation it is asked for', async () => {
    const { paths } = JSON.parse((await app.inject({ method: 'GET', url: '/openapi.json' })).body) as OpenApi;
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const withId = operations.filter((operation) => operation.includes('{'));
    expect(withId.length).toBeGreaterThan(20);
    const before = await everything();
    const seen: string[] = [];
    for (const operation of withId) {
      const [method = '', path = ''] = operation.split(' ');
      const url = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => ids[name] ?? `no id for ${name}`);
      const payload = method === 'GET' ? undefined : (bodies[operation]?.() ?? {});
      if (method === 'GET' && (await ask('demo', method, url)).status === 200) seen.push(operation);
      const { status, body } = await ask('other', method, url, payload);
      const empty = status === 200 && body === '{"items":[]}';
      expect({ operation, status: empty ? 404 : status, body }).toEqual({ operation, status: 404, body: expect.any(String) });
    }
    expect(await everything()).toEqual(before);
    // The same is there for whom it belongs to.
    expect(seen.length).toBeGreaterThan(4);
  });

  it('every operation that takes its subject in the body is among those that are tried', async () => {
    const { paths } = JSON.parse((await app.inject({ method: 'GET', url: '/openapi.json' })).body) as OpenApi;
    const taking = Object.entries(paths).filter(
      ([path, methods]) => !path.includes('{') && Object.keys(methods).some((method) => method !== 'get'),
    );
    expect(taking.map(([path]) => path).sort()).toEqual(named.map(([path]) => path).sort());
  });

  it.each(named)('what %s names in its body is not there', async (path, body, judge) => {
    const before = await everything();
    judge(await ask('other', 'POST', path, body()));
    expect(await everything()).toEqual(before);
  });

  it('lists hold nothing of it, whatever they are narrowed to', async () => {
    await sql(
      `INSERT INTO audit (at, caller, person, action, subject, organization) VALUES (now(), 'api', 'ada', 'x', jsonb_build_object('id', $1::text), 'demo')`,
      [ids.event_id],
    );
    const lists = [
      'dead-letters',
      'dead-letters?organization=demo',
      'dead-letters/groups',
      'batches',
      'erasures',
      'corrections',
      `corrections?event_id=${ids.event_id}`,
      `audit?subject=${ids.event_id}`,
    ];
    for (const list of lists) {
      const theirs = await ask('other', 'GET', `/v1/${list}`);
      expect([list, theirs.status, itemsOf(theirs.body)]).toEqual([list, 200, []]);
      const own = await ask('demo', 'GET', `/v1/${list}`);
      expect([list, own.status, itemsOf(own.body)]).toEqual([list, 200, [expect.anything()]]);
    }
  });
});
