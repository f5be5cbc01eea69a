import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { parse, stringify } from 'yaml';
import { eventually } from '../support/eventually.js';
import { type OpenStack, openStack } from '../support/stack.js';
import { leadBody } from '../support/traffic.js';

/** A stranger's HTTP CRM is connected by the site file alone: URL, secret and lookup template. */
const secret = `whsec_${Buffer.from('a secret of twenty-four+ bytes').toString('base64')}`;
const received: { path: string; headers: Record<string, string>; body: string }[] = [];
let stranger: Server;
let stack: OpenStack;

beforeAll(async () => {
  stranger = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({
        path: request.url ?? '',
        headers: request.headers as Record<string, string>,
        body: Buffer.concat(chunks).toString('utf8'),
      });
      response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ id: `stranger-${received.length}` }));
    });
  });
  await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
  const site = parse(readFileSync('config/demo.yaml', 'utf8')) as {
    routing: { destinations: string[] }[];
    destinations: Record<string, unknown>;
  };
  site.destinations['stranger-crm'] = {
    connector: 'webhook',
    operations: ['lead'],
    base_url: `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`,
    path: '/incoming/leads',
    secret: { env: 'STRANGER_SECRET' },
    native_idempotency: true,
    lookup: { lead: '/incoming/leads?ref={external_id}' },
  };
  for (const rule of site.routing) rule.destinations.push('stranger-crm');
  const file = join(mkdtempSync(join(tmpdir(), 'site-')), 'site.yaml');
  writeFileSync(file, stringify(site));
  stack = await openStack({ config: file, env: { STRANGER_SECRET: secret } });
}, 120_000);

afterAll(async () => {
  await stack?.close();
  await new Promise((resolve) => stranger.close(resolve));
}, 60_000);

it('receives each lead once, signed as Standard Webhooks says, beside the other destinations', async () => {
  const { body } = await stack.intake.post(leadBody('stranger-1', 0));
  const { deliveries } = await eventually(async () => {
    const status = await stack.intake.get(`/v1/leads/${String(body.event_id)}`);
    const states = (status.body.deliveries as { destination: string; state: string }[]).map(
      ({ destination, state }) => `${destination} ${state}`,
    );
    expect(states.sort()).toEqual(['sandbox-crm delivered', 'sandbox-marketing delivered', 'stranger-crm delivered']);
    return status.body as { deliveries: { destination: string; operations: { ref?: string }[] }[] };
  }, 30_000);
  expect(received).toHaveLength(1);
  const [request] = received;
  expect(request?.path).toBe('/incoming/leads');
  const verified = new Webhook(secret).verify(String(request?.body), request?.headers ?? {}) as Record<string, unknown>;
  expect(verified).toMatchObject({ external_id: body.event_id, lead_ref: body.lead_ref });
  expect(deliveries.find(({ destination }) => destination === 'stranger-crm')?.operations).toEqual([
    expect.objectContaining({ kind: 'lead', state: 'succeeded', ref: 'stranger-1' }),
  ]);
}, 60_000);
