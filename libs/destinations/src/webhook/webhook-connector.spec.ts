import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import type { LeadAccepted, LeadPayload } from '#contracts';
import { ConfigError, type DestinationConfig, hmacs } from '#runtime';
import type { OperationCall } from '../connector.js';
import { WebhookConnector } from './webhook-connector.js';

const event: LeadAccepted = {
  event_id: '019a0000-0000-7000-8000-000000000001',
  event_type: 'lead.accepted',
  version: 1,
  lead_ref: 'L-1',
  organization: 'demo',
  source: 'website',
  source_event_ref: 'ref',
  form: 'contact',
  campaign: null,
  submitted_at: new Date(0),
  accepted_at: new Date(0),
  deadline_at: new Date(0),
  policy: 'default',
  payload_hmac: 'v1:00',
  consent: true,
  test: false,
  destinations: ['crm'],
};
const payload: LeadPayload = {
  contact: { name: 'Ada Example', email: 'ada@example.test', phone: '' },
  message: 'Hello 🚀',
  custom: { seats: 3, big: '9007199254740993' },
  consent: { given: true, at: '2026-01-01T00:00:00.000Z' },
  submitted_at: '2026-01-01T00:00:00.000Z',
  source: 'website',
  source_event_id: 'web-1',
  person_key: 'person-1',
};
const trace = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'a=1',
  traceId: '',
  spanId: '',
  sampled: true,
};

describe('the webhook connector', () => {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  let server: Server;
  let config: DestinationConfig;
  let connector: WebhookConnector;
  let requests: { url: string; headers: IncomingHttpHeaders; body: string }[];
  let answer: { status: number; body: string };

  beforeEach(async () => {
    requests = [];
    answer = { status: 201, body: '{"id":"rec-1"}' };
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        requests.push({ url: request.url ?? '', headers: request.headers, body });
        response.writeHead(answer.status).end(answer.body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    config = {
      name: 'crm',
      connector: 'webhook',
      primary: true,
      sandbox: true,
      requiresConsent: false,
      operations: ['contact', 'lead'],
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/crm`,
      secret: { file: 'crm-secret' },
      nativeIdempotency: true,
      lookup: { lead: '/leads?external_id={external_id}' },
      paths: { contact: '/contacts', lead: '/leads' },
      timeoutMs: 1_000,
      connectTimeoutMs: 500,
      concurrency: 4,
    };
    connector = newConnector(config);
  });
  afterEach(async () => {
    await connector.close();
    await new Promise((resolve) => server.close(resolve));
  });

  const newConnector = (options: DestinationConfig) =>
    new WebhookConnector({ name: options.name, config: options, secret, hmacs: hmacs(Buffer.alloc(32, 1)) });
  const call = (kind: string, more: Partial<OperationCall> = {}): OperationCall => ({
    kind,
    operationKey: `${event.event_id}:crm:${kind}`,
    event,
    payload,
    refs: {},
    trace,
    timeoutMs: 1_000,
    ...more,
  });

  it('posts a contact with the person’s fields under the operation key, signed and traced', async () => {
    expect(await connector.perform(call('contact'))).toMatchObject({ kind: 'succeeded', ref: 'rec-1', status: 201, mappingVersion: 1 });
    const [request] = requests;
    expect(request?.url).toBe('/crm/contacts');
    expect(request?.headers).toMatchObject({
      'webhook-id': `${event.event_id}:crm:contact`,
      'idempotency-key': `${event.event_id}:crm:contact`,
      traceparent: trace.traceparent,
      tracestate: 'a=1',
      'content-type': 'application/json',
    });
    const verified = new Webhook(secret).verify(request?.body ?? '', request?.headers as Record<string, string>);
    expect(verified).toEqual({
      person_key: 'person-1',
      name: 'Ada Example',
      email: 'ada@example.test',
      phone: '',
      consent: payload.consent,
      organization: 'demo',
      source: 'website',
      lead_ref: 'L-1',
      submitted_at: '2026-01-01T00:00:00.000Z',
    });
  });

  it('posts a lead with its contact’s reference', async () => {
    await connector.perform(call('lead', { refs: { contact: 'c-9' } }));
    expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({
      external_id: event.event_id,
      contact_id: 'c-9',
      lead_ref: 'L-1',
      message: 'Hello 🚀',
      custom: { seats: 3, big: '9007199254740993' },
    });
    expect(JSON.parse(requests[0]?.body ?? '')).not.toHaveProperty('campaign');
  });

  it('sends the person with the lead where there is no operation for contacts', async () => {
    const single = newConnector({ ...config, operations: ['lead'] });
    await single.perform(call('lead'));
    await single.close();
    expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({ contact: payload.contact, consent: payload.consent });
  });

  it('sends the same bytes for the same operation, whenever it is repeated', async () => {
    await connector.perform(call('lead', { refs: { contact: 'c-9' } }));
    await connector.perform(
      call('lead', { refs: { contact: 'c-9' }, trace: { ...trace, traceparent: trace.traceparent.replace('b7', 'c8') } }),
    );
    expect(requests[0]?.body).toBe(requests[1]?.body);
  });

  it('refuses to send another request under a key whose request is pinned', async () => {
    const first = await connector.perform(call('lead'));
    const pinned = { requestHash: first.requestHash ?? '', mappingVersion: 1 };
    expect(await connector.perform(call('lead', { pinned }))).toMatchObject({ kind: 'succeeded' });
    const changed = { ...payload, message: 'Other' };
    expect(await connector.perform(call('lead', { pinned, payload: changed }))).toEqual({
      kind: 'permanent',
      class: 'conflict',
      code: 'request_changed',
    });
    expect(requests).toHaveLength(2);
  });

  it('finds an operation again through its lookup template', async () => {
    answer = { status: 200, body: '[{"id":"rec-7"}]' };
    expect(await connector.lookup({ kind: 'lead', eventId: event.event_id, personKey: 'p', timeoutMs: 1_000 })).toEqual({
      kind: 'found',
      ref: 'rec-7',
    });
    expect(requests[0]?.url).toBe(`/crm/leads?external_id=${event.event_id}`);
    expect(await connector.lookup({ kind: 'contact', eventId: 'e', personKey: 'p', timeoutMs: 1_000 })).toMatchObject({ kind: 'unknown' });
  });

  it('names every unknown placeholder of its templates at once', () => {
    const create = () => newConnector({ ...config, lookup: { lead: '/x/{mail}/{phone}' } });
    expect(create).toThrow(ConfigError);
    expect(create).toThrow(/\{mail\}[\s\S]*\{phone\}/);
  });

  it('says what it can do', () => {
    expect(connector.capabilities).toEqual({
      nativeIdempotency: true,
      upsert: [],
      lookup: ['lead'],
      changedSince: false,
      batch: false,
      check: false,
    });
  });
});
