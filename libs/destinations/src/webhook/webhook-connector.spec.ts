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
  const open: WebhookConnector[] = [];
  let requests: { method: string; url: string; headers: IncomingHttpHeaders; body: string }[];
  let answer: { status: number; body: string; afterMs?: number };

  /** Status of every change. */
  let gone: number | undefined;
  /** Answers in place of the others, by method and path; no status: the connection is cut. */
  let answers: Record<string, { status?: number; body?: string }>;

  beforeEach(async () => {
    requests = [];
    gone = undefined;
    answers = {};
    answer = { status: 201, body: '{"id":"rec-1"}' };
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
        const own = answers[`${request.method} ${request.url}`];
        if (own !== undefined) return own.status === undefined ? response.destroy() : response.writeHead(own.status).end(own.body);
        const status = request.method === 'PATCH' && gone !== undefined ? gone : answer.status;
        setTimeout(() => response.writeHead(status).end(answer.body), answer.afterMs ?? 0);
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
      updates: { contact: { method: 'PATCH', path: '/contacts/{ref}' } },
      protectedFields: [],
      errors: [],
      check: '/check',
      timeoutMs: 1_000,
      connectTimeoutMs: 500,
      lookupTimeoutMs: 300,
      maxExecutionMs: 60_000,
      searchLagMs: 30_000,
      uncertainHorizonMs: 1_800_000,
      keyRetentionMs: 86_400_000,
      backoff: { baseMs: 15_000, capMs: 300_000 },
      breaker: { coolDownMs: 15_000, longestCoolDownMs: 60_000 },
      retryBudget: 0.2,
      concurrency: 4,
    };
    connector = newConnector(config);
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()));
    await new Promise((resolve) => server.close(resolve));
  });

  const newConnector = (options: DestinationConfig) => {
    const made = new WebhookConnector({ name: options.name, config: options, secret, hmacs: hmacs(Buffer.alloc(32, 1)) });
    open.push(made);
    return made;
  };
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

  describe('a destination without an operation for contacts', () => {
    const single = () => newConnector({ ...config, operations: ['lead'] });
    const sentContact = () => (JSON.parse(requests.at(-1)?.body ?? '') as { contact: object }).contact;

    it('gets the person with the lead', async () => {
      await single().perform(call('lead'));
      expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({
        contact: { name: 'Ada Example', email: 'ada@example.test' },
        consent: payload.consent,
      });
    });

    it('case 18: keeps every field that a later form left empty or did not ask for', async () => {
      const kept = { name: 'Ada Example', email: 'ada@example.test', phone: '+12025550101', city: 'Riga' };
      await single().perform(call('lead'));
      expect(payload.contact).toHaveProperty('phone', '');
      expect({ ...kept, ...sentContact() }).toEqual(kept);
      expect(single().expected({ kind: 'lead', event, payload, refs: {} }).fields.contact).not.toHaveProperty('phone');
    });

    it('gets the body that was sent before where that had empty fields, for as long as it is the same lead', async () => {
      const body = {
        external_id: event.event_id,
        person_key: 'person-1',
        contact: payload.contact,
        consent: payload.consent,
        lead_ref: 'L-1',
        organization: 'demo',
        source: 'website',
        message: payload.message,
        custom: payload.custom,
        submitted_at: payload.submitted_at,
      };
      const requestHash = hmacs(Buffer.alloc(32, 1)).ref('demo', JSON.stringify(body));
      const pinned = { requestHash, mappingVersion: 1 };
      expect(await single().perform(call('lead', { pinned }))).toMatchObject({ kind: 'succeeded', requestHash });
      expect(JSON.parse(requests[0]?.body ?? '')).toEqual(body);
      const other = { ...payload, contact: { ...payload.contact, name: 'Bo Example' } };
      expect(await single().perform(call('lead', { pinned, payload: other }))).toMatchObject({ code: 'request_changed' });
      expect(requests).toHaveLength(1);
    });
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

  describe('a person who is known', () => {
    const known = (newer: string[] = []) => ({ ref: 'c/9', newer });
    const sent = () => JSON.parse(requests.at(-1)?.body ?? '') as Record<string, unknown>;

    it('is changed by the reference, with the same fields as a new one', async () => {
      expect(await connector.perform(call('contact', { contact: known() }))).toMatchObject({ kind: 'succeeded', ref: 'rec-1' });
      expect(requests[0]).toMatchObject({ method: 'PATCH', url: '/crm/contacts/c%2F9' });
      expect(Object.keys(sent())).toEqual(['person_key', ...connector.contactFields(event, payload)]);
      new Webhook(secret).verify(requests[0]?.body ?? '', requests[0]?.headers as Record<string, string>);
    });

    it('keeps what a newer lead wrote', async () => {
      await connector.perform(call('contact', { contact: known(['name', 'lead_ref']) }));
      expect(sent()).not.toHaveProperty('name');
      expect(sent()).not.toHaveProperty('lead_ref');
      expect(sent()).toMatchObject({ email: 'ada@example.test' });
    });

    it('case 18: keeps every field that a later form left empty or did not ask for', async () => {
      const kept: Record<string, unknown> = { name: 'Ada Example', email: 'ada@example.test', phone: '+12025550101', city: 'Riga' };
      await connector.perform(call('contact', { contact: known() }));
      expect(payload.contact).toHaveProperty('phone', '');
      expect({ ...kept, ...sent() }).toMatchObject(kept);
      expect(sent()).not.toHaveProperty('phone');
      expect(connector.contactFields(event, payload)).not.toContain('phone');
    });

    it('is left alone where newer leads wrote every field', async () => {
      const newer = connector.contactFields(event, payload);
      expect(await connector.perform(call('contact', { contact: { ref: 'c-9', newer } }))).toEqual({ kind: 'succeeded', ref: 'c-9' });
      expect(requests).toHaveLength(0);
    });

    it('gets each change under the operation’s key and a mark of what it carries', async () => {
      for (const newer of [[], [], ['name']]) await connector.perform(call('contact', { contact: known(newer) }));
      const keys = requests.map(({ headers }) => String(headers['idempotency-key']));
      expect(keys[0]).toMatch(/:crm:contact~[0-9a-f]{12}$/);
      expect(keys[1]).toBe(keys[0]);
      expect(keys[2]).not.toBe(keys[0]);
      expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual(keys);
    });

    it('is the same request as before to the pin, whatever is known by now', async () => {
      const first = await connector.perform(call('contact'));
      const pinned = { requestHash: first.requestHash ?? '', mappingVersion: 1 };
      expect(await connector.perform(call('contact', { pinned, contact: known(['name']) }))).toMatchObject({ kind: 'succeeded' });
      const other = { ...payload, contact: { name: 'Bo Example' } };
      expect(await connector.perform(call('contact', { pinned, contact: known(), payload: other }))).toMatchObject({
        code: 'request_changed',
      });
    });

    it.each([404, 410])('and is gone (%i) is made anew at once under the operation’s key, with every field', async (status) => {
      gone = status;
      expect(await connector.perform(call('contact', { contact: known(['name']) }))).toMatchObject({ kind: 'succeeded', ref: 'rec-1' });
      expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual(['PATCH /crm/contacts/c%2F9', 'POST /crm/contacts']);
      expect(requests[1]?.headers['idempotency-key']).toBe(`${event.event_id}:crm:contact`);
      expect(sent()).toMatchObject({ name: 'Ada Example' });
    });

    it('and is gone is left to the next attempt where a repeated key makes a second record', async () => {
      gone = 404;
      const careful = newConnector({ ...config, nativeIdempotency: false });
      expect(await careful.perform(call('contact', { contact: known() }))).toEqual({
        kind: 'transient',
        code: 'contact_gone',
        provablyNotExecuted: true,
        gone: true,
        status: 404,
      });
      await careful.close();
      expect(requests).toHaveLength(1);
    });

    it.each<[number, string]>([
      [404, 'is gone'],
      [412, 'has another version by now'],
    ])('and repaired is neither made anew nor written over where it (%i) %s', async (status) => {
      gone = status;
      const matching = newConnector({ ...config, updates: { contact: { method: 'PATCH', path: '/contacts/{ref}', ifMatch: true } } });
      const outcome = await matching.perform(call('contact', { contact: known(), compared: { version: '7' } }));
      expect(outcome).toMatchObject({ kind: 'permanent', class: 'conflict', code: 'changed_by_person' });
      await matching.close();
      expect(requests).toMatchObject([{ method: 'PATCH', headers: { 'if-match': '"7"' } }]);
    });

    it('is posted like a new one where the site file does not say how it is changed', async () => {
      const plain = newConnector({ ...config, updates: {} });
      await plain.perform(call('contact', { contact: known(['name']) }));
      await plain.close();
      expect(requests[0]).toMatchObject({ method: 'POST', url: '/crm/contacts' });
      expect(sent()).not.toHaveProperty('name');
      expect(plain.repeatable('contact', known())).toBe(false);
    });

    it('makes a call repeatable by itself, as the change of a named record', () => {
      expect(connector.repeatable('contact', known())).toBe(true);
      expect(connector.repeatable('contact', { newer: [] })).toBe(false);
      expect(connector.repeatable('contact', undefined)).toBe(false);
      expect(connector.repeatable('lead', known())).toBe(false);
    });
  });

  describe('a person who is there already', () => {
    const withPhone = { ...payload, contact: { ...payload.contact, phone: '+12025550101' } };
    const exists = { status: 409, body: '{"code":"contact_exists","id":"c/7"}' };
    const rules = { errors: [{ status: 409, code: 'contact_exists', outcome: 'duplicate' as const }] };
    const made = () => requests.map(({ method, url }) => `${method} ${url}`);
    const create = 'POST /crm/contacts';
    const change = 'PATCH /crm/contacts/c%2F7';
    beforeEach(() => {
      answers[create] = exists;
    });

    it.each([true, false])('is changed under the reference that the answer names (native idempotency: %s)', async (nativeIdempotency) => {
      answers[change] = { status: 204 };
      const outcome = await newConnector({ ...config, ...rules, nativeIdempotency }).perform(call('contact', { payload: withPhone }));
      expect(outcome).toMatchObject({ kind: 'succeeded', ref: 'c/7', requestHash: expect.any(String), mappingVersion: 1 });
      expect(made()).toEqual([create, change]);
      expect(JSON.parse(requests[1]?.body ?? '')).toMatchObject({ phone: '+12025550101' });
      expect(requests[1]?.headers['idempotency-key']).toMatch(/:crm:contact~[0-9a-f]{12}$/);
    });

    it.each([
      ['c/8', { kind: 'permanent', class: 'conflict', code: 'several_contacts' }],
      ['c/7', { kind: 'duplicate', ref: 'c/7' }],
    ])('and known is not changed where that is refused because of %s, unless it is itself', async (id, expected) => {
      answers[change] = { status: 409, body: JSON.stringify({ code: 'contact_exists', id }) };
      const known = call('contact', { payload: withPhone, contact: { ref: 'c/7', newer: [] } });
      expect(await newConnector({ ...config, ...rules }).perform(known)).toMatchObject(expected);
      expect(made()).toEqual([change]);
    });

    it('is changed without what is the destination’s to say, and without what newer leads wrote', async () => {
      answers['PATCH /crm/contacts/c-9'] = { status: 404 };
      const reconcile = { windowMs: 1, overlapMs: 1, rate: 1, page: 1, fields: { email: 'theirs' } as const };
      const merged = call('contact', { payload: withPhone, contact: { ref: 'c-9', newer: ['name'] } });
      expect(await newConnector({ ...config, ...rules, reconcile }).perform(merged)).toMatchObject({ kind: 'succeeded' });
      expect(made()).toEqual(['PATCH /crm/contacts/c-9', create, change]);
      expect(JSON.parse(requests[2]?.body ?? '')).toMatchObject({ phone: '+12025550101' });
      for (const field of ['email', 'name']) expect(JSON.parse(requests[2]?.body ?? '')).not.toHaveProperty(field);
    });

    it('is taken as it is where the site file does not say how a contact is changed', async () => {
      const outcome = await newConnector({ ...config, ...rules, updates: {} }).perform(call('contact', { payload: withPhone }));
      expect(outcome).toMatchObject({ kind: 'duplicate', ref: 'c/7' });
      expect(made()).toEqual([create]);
    });

    it.each<[string, boolean, { status?: number; body?: string }, object]>([
      ['is not answered', false, {}, { kind: 'transient', provablyNotExecuted: true }],
      ['is not answered where a repeated key is known', true, {}, { kind: 'uncertain' }],
      ['fails', false, { status: 503 }, { kind: 'transient', provablyNotExecuted: true, code: 'http_503', status: 503 }],
      ['is refused', false, { status: 422 }, { kind: 'permanent', class: 'permanent', code: 'http_422', status: 422 }],
      ['comes too often', false, { status: 429 }, { kind: 'throttled', status: 429 }],
      ['meets nobody', true, { status: 404 }, { kind: 'transient', provablyNotExecuted: true, code: 'contact_gone', gone: true }],
      [
        'names yet another record',
        true,
        { status: 409, body: '{"code":"contact_exists","id":"c/8"}' },
        { kind: 'permanent', class: 'conflict', code: 'several_contacts' },
      ],
    ])('is not counted as written where the change %s (native idempotency: %s)', async (_what, nativeIdempotency, second, expected) => {
      answers[change] = second;
      const outcome = await newConnector({ ...config, ...rules, nativeIdempotency }).perform(call('contact', { payload: withPhone }));
      expect(outcome).toMatchObject({ ...expected, requestHash: expect.any(String) });
      expect(made()).toEqual([create, change]);
    });
  });

  describe('a contact whose id the answer does not say', () => {
    const search = 'GET /crm/contacts?person_key=person-1';
    const asking = (more: Partial<DestinationConfig> = {}) =>
      newConnector({ ...config, lookup: { contact: '/contacts?person_key={person_key}' }, ...more });
    beforeEach(() => {
      answers['POST /crm/contacts'] = { status: 202 };
      answers[search] = { status: 200, body: '[{"id":"c-7"}]' };
    });

    it('is looked up at once, within the time of the call', async () => {
      expect(await asking().perform(call('contact'))).toMatchObject({ kind: 'succeeded', ref: 'c-7', status: 202 });
      expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual(['POST /crm/contacts', search]);
    });

    it.each<[string, { status?: number; body?: string }]>([
      ['lags', { status: 200, body: '[]' }],
      ['fails', { status: 500 }],
      ['finds two', { status: 200, body: '[{"id":"c-7"},{"id":"c-8"}]' }],
    ])('is left to later lookups where the search %s, and says nothing against the destination', async (_what, found) => {
      answers[search] = found;
      expect(await asking().perform(call('contact'))).toMatchObject({
        kind: 'uncertain',
        code: 'no_reference',
        answered: true,
        status: 202,
        requestHash: expect.any(String),
        mappingVersion: 1,
      });
    });

    it.each<[string, Partial<DestinationConfig>]>([
      ['cannot be looked up', { lookup: {} }],
      ['is needed by nothing', { operations: ['contact'], updates: {} }],
      ['comes last and is never changed', { operations: ['lead', 'contact'], updates: {} }],
    ])('is done without one where it %s', async (_what, more) => {
      expect(await asking(more).perform(call('contact'))).toMatchObject({ kind: 'succeeded', ref: undefined });
      expect(requests).toHaveLength(1);
    });

    it.each<[string, Partial<DestinationConfig>]>([
      ['by its id', {}],
      ['like a new one', { updates: {} }],
    ])('is still the one that is known where it was changed %s', async (_what, more) => {
      answers['PATCH /crm/contacts/c-9'] = { status: 204 };
      const outcome = await asking(more).perform(call('contact', { contact: { ref: 'c-9', newer: [] } }));
      expect(outcome).toMatchObject({ kind: 'succeeded', ref: 'c-9' });
      expect(requests).toHaveLength(1);
    });

    it('is looked up and changed where it was there already', async () => {
      answers['POST /crm/contacts'] = { status: 409, body: '{"code":"exists"}' };
      answers['PATCH /crm/contacts/c-7'] = { status: 204 };
      const rules = { errors: [{ status: 409, code: 'exists', outcome: 'duplicate' as const }] };
      expect(await asking(rules).perform(call('contact'))).toMatchObject({ kind: 'succeeded', ref: 'c-7' });
      expect(requests.map(({ method }) => method)).toEqual(['POST', 'GET', 'PATCH']);
      answers[search] = { status: 200, body: '[]' };
      expect(await asking(rules).perform(call('contact'))).toMatchObject({ kind: 'uncertain', code: 'exists', answered: true });
    });
  });

  it.each([
    ['contact', 'email'],
    ['lead', 'custom.seats'],
    ['lead', 'message'],
  ])('refuses a %s that would write the protected field %s, and sends nothing', async (kind, field) => {
    const careful = newConnector({ ...config, protectedFields: ['custom.owner', field] });
    expect(await careful.perform(call(kind))).toEqual({ kind: 'permanent', class: 'protected_field', code: field });
    expect(requests).toHaveLength(0);
    const [without] = [{ ...payload, contact: { name: 'Ada Example' }, custom: { other: 1 }, message: undefined }];
    expect(await careful.perform(call(kind, { payload: without }))).toMatchObject({ kind: 'succeeded' });
    await careful.close();
  });

  it('never changes a field of a contact that the destination is right about, and writes it when it makes one', async () => {
    const reconcile = { windowMs: 1, overlapMs: 1, rate: 1, page: 1, fields: { email: 'theirs', name: 'newest' } as const };
    const careful = newConnector({ ...config, reconcile });
    await careful.perform(call('contact', { contact: { ref: 'c-9', newer: [] } }));
    await careful.perform(call('contact', { contact: { newer: [] } }));
    const [change, creation] = requests.map(({ method, body }) => ({ method, body: JSON.parse(body) as object }));
    expect(change).toMatchObject({ method: 'PATCH', body: { name: 'Ada Example' } });
    expect(change?.body).not.toHaveProperty('email');
    expect(creation).toMatchObject({ method: 'POST', body: { email: 'ada@example.test' } });
  });

  describe('a lead that is there and is repaired', () => {
    const known = (more: Partial<OperationCall> = {}) => call('lead', { refs: { contact: 'c-9', lead: 'l/7' }, ...more });
    const changing = (more: Partial<DestinationConfig> = {}) =>
      newConnector({ ...config, updates: { lead: { method: 'PATCH', path: '/leads/{ref}' } }, ...more });

    it('is changed by its reference, under a key of what is sent', async () => {
      expect(await changing().perform(known())).toMatchObject({ kind: 'succeeded', ref: 'rec-1' });
      expect(requests).toMatchObject([{ method: 'PATCH', url: '/crm/leads/l%2F7' }]);
      expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({ external_id: event.event_id, contact_id: 'c-9', message: 'Hello 🚀' });
      expect(requests[0]?.headers['idempotency-key']).toMatch(/:crm:lead~/);
    });

    it('keeps the fields that the destination is right about, and those that somebody there may have written last', async () => {
      const reconcile = { windowMs: 1, overlapMs: 1, rate: 1, page: 1 };
      const fields = { message: 'theirs', form: 'newest', 'custom.seats': 'theirs', campaign: 'ours' } as const;
      await changing({ reconcile: { ...reconcile, fields } }).perform(known({ payload: { ...payload, form: 'f', campaign: 'c' } }));
      const sent = JSON.parse(requests[0]?.body ?? '') as object;
      expect(sent).toMatchObject({ campaign: 'c', lead_ref: 'L-1' });
      for (const field of ['message', 'form', 'custom']) expect(sent).not.toHaveProperty(field);
    });

    it('is never posted a second time where nothing says how it is changed', async () => {
      expect(await connector.perform(known())).toMatchObject({ kind: 'permanent', class: 'conflict', code: 'cannot_change' });
      expect(requests).toEqual([]);
    });

    it.each([
      ['l-8', { kind: 'permanent', class: 'conflict', code: 'several_records' }],
      ['l/7', { kind: 'duplicate', ref: 'l/7' }],
    ])('is not changed where that is refused because of %s, unless it is itself', async (id, expected) => {
      answer = { status: 409, body: JSON.stringify({ error: 'exists', id }) };
      const rules = [{ status: 409, code: 'exists', outcome: 'duplicate' as const }];
      const outcome = await changing({ errors: rules }).perform(known());
      expect(outcome).toMatchObject(expected);
      if (id !== 'l/7') expect(outcome).not.toHaveProperty('ref');
    });

    it('and is gone is not made anew by itself', async () => {
      gone = 404;
      expect(await changing().perform(known())).toMatchObject({ kind: 'permanent', code: 'http_404' });
      expect(requests).toHaveLength(1);
    });

    it('is posted where its reference was let go', async () => {
      await changing().perform(known({ refs: { contact: 'c-9' }, operationKey: 'k~g2' }));
      expect(requests).toMatchObject([{ method: 'POST', url: '/crm/leads', headers: { 'idempotency-key': 'k~g2' } }]);
    });
  });

  it('knows what a record holds after its write: the fields of the body, and its contact as a link', async () => {
    const lead = { event, payload: { ...payload, consent: { given: true, at: undefined } }, refs: { contact: 'c-9' } };
    expect(connector.expected({ ...lead, kind: 'lead' })).toEqual({
      fields: {
        person_key: 'person-1',
        lead_ref: 'L-1',
        organization: 'demo',
        source: 'website',
        message: 'Hello 🚀',
        custom: payload.custom,
        submitted_at: payload.submitted_at,
      },
      links: { contact: 'c-9' },
    });
    const contact = connector.expected({ ...lead, kind: 'contact' });
    expect(contact.links).toBeUndefined();
    expect(contact.fields).toMatchObject({ name: 'Ada Example', consent: { given: true } });
    expect(Object.keys(contact.fields)).not.toContain('person_key');
    expect(contact.fields).not.toHaveProperty('phone');
  });

  it('lets pass a protected field that a newer lead wrote already', async () => {
    const careful = newConnector({ ...config, protectedFields: ['email'] });
    expect(await careful.perform(call('contact', { contact: { ref: 'c-9', newer: ['email'] } }))).toMatchObject({ kind: 'succeeded' });
    expect(requests[0]?.body).not.toContain('ada@example.test');
    await careful.close();
  });

  it('reads answers by the destination’s own table', async () => {
    answer = { status: 409, body: '{"error":"duplicate_external_id","id":"l-7"}' };
    const rules = newConnector({ ...config, errors: [{ status: 409, code: 'duplicate_external_id', outcome: 'duplicate' }] });
    expect(await rules.perform(call('lead'))).toMatchObject({ kind: 'duplicate', ref: 'l-7', status: 409 });
    expect(await connector.perform(call('lead'))).toMatchObject({ kind: 'permanent', class: 'conflict' });
    await rules.close();
  });

  it('checks credentials with a signed request of their own', async () => {
    answer = { status: 200, body: '{"ok":true}' };
    expect(await connector.check?.()).toEqual({ ok: true });
    expect(requests[0]).toMatchObject({ method: 'GET', url: '/crm/check' });
    new Webhook(secret).verify('', requests[0]?.headers as Record<string, string>);
    answer = { status: 401, body: '{"error":"expired_token"}' };
    expect(await connector.check?.()).toEqual({ ok: false, code: 'expired_token' });
    answer = { status: 200, body: '{"ok":false}' };
    expect(await connector.check?.()).toEqual({ ok: false, code: 'error_body' });
    const unchecked = newConnector({ ...config, check: undefined });
    expect(unchecked.check).toBeUndefined();
    expect(unchecked.capabilities.check).toBe(false);
    await unchecked.close();
  });

  it('gives lookups and checks a limit apart from that of writes', async () => {
    answer = { status: 200, body: '[{"id":"rec-7"}]', afterMs: 600 };
    const [lookup, check, write] = await Promise.all([
      connector.lookup({ kind: 'lead', eventId: event.event_id, timeoutMs: 1_000 }),
      connector.check?.(),
      connector.perform(call('lead')),
    ]);
    expect(lookup).toEqual({ kind: 'unknown', code: 'timeout' });
    expect(check).toEqual({ ok: false, code: 'timeout' });
    expect(write).toMatchObject({ kind: 'succeeded' });
  });

  it('looks up and checks while every write hangs', async () => {
    const hung = Array.from({ length: 6 }, (_, index) => {
      answer = { status: 201, body: '{}', afterMs: 700 };
      return connector.perform(call('lead', { operationKey: `k-${index}` }));
    });
    while (requests.length < 4) await new Promise((resolve) => setTimeout(resolve, 5));
    answer = { status: 200, body: '[]' };
    expect(await connector.lookup({ kind: 'lead', eventId: event.event_id, timeoutMs: 1_000 })).toEqual({ kind: 'absent' });
    await connector.close();
    await Promise.all(hung);
  });

  it('looks nobody up by a person it does not know', async () => {
    const byPerson = newConnector({ ...config, lookup: { contact: '/contacts?person_key={person_key}' } });
    expect(await byPerson.lookup({ kind: 'contact', eventId: 'e', timeoutMs: 1_000 })).toEqual({ kind: 'unknown', code: 'no_person_key' });
    expect(requests).toHaveLength(0);
    await byPerson.close();
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
      check: true,
    });
  });
});
