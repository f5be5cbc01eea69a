import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { DatabaseUnavailable } from '../database/database-errors.js';
import { createLogger } from '../logging/logger.js';
import { type InternalClient, internalClient } from './internal-client.js';
import { type InternalServer, startInternalServer } from './internal-server.js';
import type { ReadinessCheck } from './readiness.js';

const tokens = { 'crm-writer': 'a'.repeat(32), notifier: 'b'.repeat(32) };
const body = z.object({ items: z.array(z.object({ lead_ref: z.string() })) });
const path = '/internal/v1/vault:read';

let server: InternalServer;
let clients: InternalClient[];
let logged: string[];

beforeEach(async () => {
  clients = [];
  logged = [];
  const logger = createLogger('intake', 'debug', { write: (line) => logged.push(line) });
  server = await startInternalServer({ host: '127.0.0.1', port: 0, tokens, readiness: [], logger });
  server.route(path, { callers: ['crm-writer'], body }, async ({ items }, { caller }) => ({
    caller,
    refs: items.map((item) => item.lead_ref),
  }));
});

afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await server.stop();
});

const baseUrl = () => `http://127.0.0.1:${server.port}`;

function client(token = tokens['crm-writer'], timeoutMs = 2_000): InternalClient {
  const made = internalClient({ baseUrl: baseUrl(), token, timeoutMs });
  clients.push(made);
  return made;
}

async function post(text: string, { token = tokens['crm-writer'], to = path }: { token?: string; to?: string } = {}) {
  const response = await fetch(`${baseUrl()}${to}`, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body: text });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

const items = (count: number) => ({ items: Array.from({ length: count }, (_, index) => ({ lead_ref: `L-${index}` })) });

describe('the internal API', () => {
  it('answers a caller that is allowed, with who it took it for', async () => {
    expect(await client().post(path, items(2))).toEqual({ caller: 'crm-writer', refs: ['L-0', 'L-1'] });
  });

  it.each(['wrong', '', 'a', `${'a'.repeat(32)}x`])('refuses the token %j', async (token) => {
    expect((await post('{}', { token })).status).toBe(401);
  });

  it('refuses a caller that another route is for', async () => {
    expect((await post('{}', { token: tokens.notifier })).status).toBe(403);
    await expect(client(tokens.notifier).post(path, items(1))).rejects.toMatchObject({ name: 'InternalRefused', status: 403 });
  });

  it.each([
    ['no JSON', '{"items":', 400],
    ['a body of another form', '{"items":[{"lead_ref":7}]}', 422],
    ['more than 500 items', JSON.stringify(items(501)), 413],
    ['more bytes than it takes', JSON.stringify({ items: ['x'.repeat(5_000_000)] }), 413],
  ])('refuses %s', async (_, text, status) => {
    const answer = await post(text);
    expect(answer.status).toBe(status);
    expect(answer.type).toBe('application/problem+json');
  });

  it('names the field that is wrong and not its value', async () => {
    const { text } = await post('{"items":[{"lead_ref":{"email":"ada@example.test"}}]}');
    expect(JSON.parse(text)).toMatchObject({ errors: [{ field: 'items[0].lead_ref', problem: 'has the wrong type' }] });
    expect(text).not.toContain('ada@');
  });

  it('takes exactly 500 items', async () => {
    expect((await client().post<{ refs: string[] }>(path, items(500))).refs).toHaveLength(500);
  });

  it('knows no other route and no other method', async () => {
    expect((await post('{}', { to: '/internal/v1/other' })).status).toBe(404);
    expect((await fetch(`${baseUrl()}${path}`)).status).toBe(404);
  });

  it('answers 503 while the database is gone and 500 without a word for anything else', async () => {
    server.route('/internal/v1/gone', { callers: ['crm-writer'], body: z.object({}) }, () =>
      Promise.reject(new DatabaseUnavailable('57P01')),
    );
    server.route('/internal/v1/broken', { callers: ['crm-writer'], body: z.object({}) }, () =>
      Promise.reject(new Error('ada@example.test')),
    );
    await expect(client().post('/internal/v1/gone', {})).rejects.toMatchObject({ name: 'InternalUnavailable' });
    const broken = await post('{}', { to: '/internal/v1/broken' });
    expect(broken.status).toBe(500);
    expect(broken.text + logged.join('')).not.toContain('ada@');
    expect(logged.join('')).toContain('Internal request failed');
  });
});

describe('a client of the internal API', () => {
  it('gives up after its time limit', async () => {
    server.route('/internal/v1/slow', { callers: ['crm-writer'], body: z.object({}) }, () => new Promise(() => {}));
    await expect(client(undefined, 50).post('/internal/v1/slow', {})).rejects.toThrow(/InternalUnavailable|timeout/);
  });

  it('says unavailable when nobody listens', async () => {
    const lone = internalClient({ baseUrl: 'http://127.0.0.1:1', token: 'x', timeoutMs: 500 });
    await expect(lone.post(path, {})).rejects.toMatchObject({ name: 'InternalUnavailable' });
    await lone.close();
  });
});

describe('health', () => {
  const red: ReadinessCheck = { name: 'consumer', check: () => ({ ok: false, detail: 'no progress for 10 s' }) };

  it('is alive and, without a red check, ready', async () => {
    expect((await fetch(`${baseUrl()}/health/live`)).status).toBe(200);
    expect((await fetch(`${baseUrl()}/health/ready`)).status).toBe(200);
  });

  it('names the check that is red', async () => {
    server.addReadiness({ name: 'database', check: async () => ({ ok: true }) });
    server.addReadiness(red);
    server.addReadiness({ name: 'throws', check: () => Promise.reject(new TypeError('ada@example.test')) });
    const response = await fetch(`${baseUrl()}/health/ready`);
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({
      ready: false,
      checks: [
        { name: 'database', ok: true },
        { name: 'consumer', ok: false, detail: 'no progress for 10 s' },
        { name: 'throws', ok: false, detail: 'failed with TypeError' },
      ],
    });
  });

  it('exposes metrics as text', async () => {
    const response = await fetch(`${baseUrl()}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await response.text()).toContain('# TYPE leads_internal_requests_total counter');
  });
});

describe('stop', () => {
  it('lets a request in flight finish and takes no new one', async () => {
    let finish: (value: unknown) => void = () => {};
    let arrived: () => void = () => {};
    const inside = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    server.route('/internal/v1/held', { callers: ['crm-writer'], body: z.object({}) }, () => {
      arrived();
      return new Promise((resolve) => {
        finish = resolve;
      });
    });
    const held = client().post('/internal/v1/held', {});
    await inside;
    const stopped = server.stop();
    finish({ done: true });
    expect(await held).toEqual({ done: true });
    await stopped;
    await expect(new Promise((_, reject) => request(`${baseUrl()}/health/live`).on('error', reject).end())).rejects.toMatchObject({
      code: 'ECONNREFUSED',
    });
  });
});
