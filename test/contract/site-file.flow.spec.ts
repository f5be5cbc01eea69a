import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { parse, stringify } from 'yaml';
import { runBalance } from '../support/balance.js';
import { soon } from '../support/common-stack.js';
import { eventually } from '../support/eventually.js';
import { BatchClient } from '../support/replay-batches.js';
import { restartWith } from '../support/restart-with.js';
import { closeMs, type OpenStack, openStack } from '../support/stack.js';
import { leadBody } from '../support/traffic.js';

/** Strangers' HTTP CRMs are connected by the site file alone: URL, secret and lookup template. */
const secret = `whsec_${Buffer.from('a secret of twenty-four+ bytes').toString('base64')}`;

interface Received {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** What a stranger has received, lookups included, and the records it holds: one more for each POST. */
class Stranger {
  readonly received: Received[] = [];
  readonly records: { id: string; external_id: unknown }[] = [];
  private readonly server: Server;

  /** With `cutsFirst` the first answer to a POST is lost after the record was made. */
  constructor(
    private readonly name: string,
    private readonly cutsFirst = false,
  ) {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => this.answer(request, response, Buffer.concat(chunks).toString('utf8')));
    });
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): Promise<unknown> {
    return new Promise((resolve) => this.server.close(resolve));
  }

  requests(method: string): Received[] {
    return this.received.filter((one) => one.method === method);
  }

  private answer({ method = '', url = '', headers, socket }: IncomingMessage, response: ServerResponse, body: string): void {
    this.received.push({ method, path: url, headers: headers as Record<string, string>, body });
    const json = (status: number, value: unknown): unknown =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (method === 'GET') {
      const ref = new URL(url, 'http://stranger').searchParams.get('ref');
      json(
        200,
        this.records.filter(({ external_id }) => external_id === ref),
      );
      return;
    }
    const record = { id: `${this.name}-${this.records.length + 1}`, external_id: JSON.parse(body).external_id as unknown };
    this.records.push(record);
    if (this.cutsFirst && this.records.length === 1) socket.destroy();
    else json(201, record);
  }
}

const stranger = new Stranger('stranger');
/** It knows no idempotency key, and loses its first answer. */
const forgetful = new Stranger('forgetful', true);
let stack: OpenStack;
let site: {
  sources: Record<string, unknown>[];
  routing: { match?: Record<string, string>; destinations: string[] }[];
  destinations: Record<string, unknown>;
};
let file: string;

beforeAll(async () => {
  site = parse(readFileSync('config/demo.yaml', 'utf8')) as typeof site;
  const connected = {
    ...{ connector: 'webhook', operations: ['lead'], path: '/incoming/leads', secret: { env: 'STRANGER_SECRET' } },
    lookup: { lead: '/incoming/leads?ref={external_id}' },
  };
  site.destinations['stranger-crm'] = { ...connected, base_url: await stranger.open(), native_idempotency: true };
  // Short times, since a lookup waits for them all before it counts.
  const short = { timeout_ms: 2_000, max_execution: '1s', search_lag: '1s' };
  site.destinations['forgetful-crm'] = { ...connected, ...short, base_url: await forgetful.open() };
  for (const rule of site.routing) rule.destinations.push('stranger-crm', 'forgetful-crm');
  file = join(mkdtempSync(join(tmpdir(), 'site-')), 'site.yaml');
  writeFileSync(file, stringify(site));
  stack = await openStack({ config: file, env: { ...soon, STRANGER_SECRET: secret } });
}, 120_000);

afterAll(async () => {
  await stack?.close();
  await Promise.all([stranger.close(), forgetful.close()]);
}, closeMs);

it('receives each lead once, signed as Standard Webhooks says, beside the other destinations', async () => {
  const { body } = await stack.intake.post(leadBody('stranger-1', 0));
  const deliveries = await eventually(async () => {
    const status = await stack.intake.get(`/v1/leads/${String(body.event_id)}`);
    const found = status.body.deliveries as { destination: string; state: string; operations: { ref?: string }[] }[];
    expect(found.map(({ destination, state }) => `${destination} ${state}`).sort()).toEqual(
      ['forgetful-crm', 'sandbox-crm', 'sandbox-marketing', 'stranger-crm'].map((destination) => `${destination} delivered`),
    );
    return found;
  }, 60_000);
  const operationsAt = (wanted: string) => deliveries.find(({ destination }) => destination === wanted)?.operations;
  const verified = ({ body, headers }: Received): unknown => new Webhook(secret).verify(body, headers);

  const [request, ...more] = stranger.received;
  expect({ path: request?.path, more }).toEqual({ path: '/incoming/leads', more: [] });
  expect(verified(request as Received)).toMatchObject({ external_id: body.event_id, lead_ref: body.lead_ref });
  expect(operationsAt('stranger-crm')).toEqual([expect.objectContaining({ kind: 'lead', state: 'succeeded', ref: 'stranger-1' })]);

  // Where an answer was lost and the key means nothing, the lookup template tells what became of it, and nothing is sent twice.
  expect(forgetful.requests('POST').map(({ path }) => path)).toEqual(['/incoming/leads']);
  expect(new Set(forgetful.requests('GET').map(({ path }) => path))).toEqual(new Set([`/incoming/leads?ref=${String(body.event_id)}`]));
  expect(forgetful.records).toEqual([{ id: 'forgetful-1', external_id: body.event_id }]);
  expect(operationsAt('forgetful-crm')).toEqual([expect.objectContaining({ kind: 'lead', state: 'succeeded', ref: 'forgetful-1' })]);
}, 120_000);

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
