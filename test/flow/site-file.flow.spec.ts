import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { parse, stringify } from 'yaml';
import { runBalance } from '../support/balance.js';
import { eventually } from '../support/eventually.js';
import { BatchClient } from '../support/replay-batches.js';
import { restartWith } from '../support/restart-with.js';
import { type OpenStack, openStack } from '../support/stack.js';
import { leadBody } from '../support/traffic.js';

/** A stranger's HTTP CRM is connected by the site file alone: URL, secret and lookup template. */
const secret = `whsec_${Buffer.from('a secret of twenty-four+ bytes').toString('base64')}`;
const received: { path: string; headers: Record<string, string>; body: string }[] = [];
let stranger: Server;
let stack: OpenStack;
let site: {
  sources: Record<string, unknown>[];
  routing: { match?: Record<string, string>; destinations: string[] }[];
  destinations: Record<string, unknown>;
};
let file: string;

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
  site = parse(readFileSync('config/demo.yaml', 'utf8')) as typeof site;
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
  file = join(mkdtempSync(join(tmpdir(), 'site-')), 'site.yaml');
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

interface Letter {
  state: string;
  destination: string;
  closed_as?: string;
}

it('reaches with a later rule and source what came before them: by approved batches, each lead once, under its own id', async () => {
  const batches = new BatchClient(stack);
  const unrouted = await stack.intake.post({ ...leadBody('late-route', 1), form: 'launch-party' });
  await stack.upstream.send([{ sourceEventId: 'late-feed', n: 2, overrides: { source: 'new-feed', form: 'launch-party' } }]);
  const eventId = String(unrouted.body.event_id);
  const lettersOf = async (id: string) => (await batches.done<{ items: Letter[] }>('viewer', `/v1/dead-letters/${id}`)).items;
  const refusedId = await eventually(async () => {
    const { items } = await batches.done<{ items: (Letter & { event_id: string })[] }>('viewer', '/v1/dead-letters?class=unknown_source');
    expect([items.length, (await lettersOf(eventId)).length]).toEqual([1, 1]);
    return items[0]?.event_id ?? '';
  }, 30_000);
  const both = { filter: { event_ids: [eventId, refusedId] } };
  const itemStates = async (id: string) => (await batches.items(id)).map(({ destination, state }) => `${destination} ${state}`).sort();

  const first = await batches.approved(both);
  await eventually(async () => expect(await itemStates(first.batch_id)).toEqual(['rejected failed', 'unrouted failed']), 60_000);

  site.routing.unshift({ match: { organization: 'demo', form: 'launch-party' }, destinations: ['sandbox-crm'] });
  site.sources.push({ id: 'new-feed', organization: 'demo', country: 'US' });
  await restartWith(stack.stack, { app: 'intake', signal: 'SIGKILL', env: {}, whileDown: () => writeFileSync(file, stringify(site)) });
  await stack.stack.ready('intake');
  // The lead died again, with a letter for that; the first one is closed by it.
  await eventually(async () => {
    const letters = (await lettersOf(eventId)).map(({ state, closed_as }) => [state, closed_as ?? null]);
    expect(letters).toEqual([
      ['closed', 'superseded'],
      ['open', null],
    ]);
  }, 60_000);
  const second = await batches.approved(both);
  await eventually(async () => expect((await batches.report(second.batch_id)).state).toBe('finished'), 60_000);
  expect(await itemStates(second.batch_id)).toEqual(['rejected succeeded', 'unrouted succeeded']);

  await eventually(async () => {
    const { body } = await stack.intake.get(`/v1/leads/${eventId}`);
    expect(body.deliveries).toEqual([expect.objectContaining({ destination: 'sandbox-crm', state: 'delivered' })]);
    const counts = await stack.sandbox.leadCounts();
    expect([counts.get(eventId), counts.size, [...counts.values()].every((count) => count === 1)]).toEqual([1, 3, true]);
    for (const id of [eventId, refusedId]) expect((await lettersOf(id)).every(({ state }) => state === 'closed')).toBe(true);
  }, 60_000);
  const { code, balance } = await runBalance(stack.stack.runDir);
  // Received: both by HTTP; the record twice, refused at first.
  expect({ code, received: balance?.received }).toEqual({
    code: 0,
    received: { received: 4, accepted: 3, repeats: 0, conflicts: 0, rejected: 1, differences: [] },
  });
}, 240_000);
