import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type OpenSandbox, openSandbox } from '../spec/open-sandbox.js';

const lead = { external_id: '0198c0de-0000-7000-8000-000000000001', lead_ref: 'L-ABCDEFGHIJKLMNOP', form: 'contact' };
const contact = { person_key: 'v1:0f', name: 'Ada Example', email: 'ada@example.test' };
const key = (value: string): Record<string, string> => ({ 'idempotency-key': value });

describe('the sandbox CRM', () => {
  let sandbox: OpenSandbox;
  const post = (path: string, body: unknown, headers?: Record<string, string>) => sandbox.call(`POST /crm${path}`, body, headers);
  const stats = async (base = '/crm') => (await sandbox.call(`GET ${base}/stats`)).body as Record<string, number>;

  beforeEach(async () => {
    sandbox = await openSandbox();
  });
  afterEach(() => sandbox.close());

  it('counts one lead posted twice with different keys as two records and one duplicate effect', async () => {
    expect((await post('/leads', lead, key('k1'))).status).toBe(201);
    expect((await post('/leads', lead, key('k2'))).status).toBe(201);
    expect(await stats()).toMatchObject({ records: 2, duplicateEffects: 1, requests: 2, contacts: 0 });
  });

  it('makes another record for a request without a key, even for an external id it knows', async () => {
    await post('/leads', lead);
    await post('/leads', lead);
    expect(await stats()).toMatchObject({ records: 2, duplicateEffects: 1 });
  });

  it('gives the stored answer to the same key and body', async () => {
    const first = await post('/leads', lead, key('k1'));
    const again = await post('/leads', lead, key('k1'));
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(await stats()).toMatchObject({ records: 1, duplicateEffects: 0, requests: 2 });
  });

  it('refuses the same key with another body or path', async () => {
    await post('/leads', lead, key('k1'));
    expect((await post('/leads', { ...lead, form: 'other' }, key('k1'))).status).toBe(409);
    expect((await post('/contacts', { ...lead, person_key: 'p' }, key('k1'))).status).toBe(409);
    expect(await stats()).toMatchObject({ records: 1, contacts: 0 });
  });

  it('handles 20 posts with one key at once as one', async () => {
    await sandbox.call('POST /crm/control', { latencyMs: 30 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => post('/leads', lead, key('k1'))));
    expect(new Set(answers.map(({ body }) => (body as { id: string }).id)).size).toBe(1);
    expect(await stats()).toMatchObject({ records: 1, duplicateEffects: 0, inFlight: 0 });
    expect((await stats()).maxInFlight).toBeGreaterThan(1);
  });

  it('upserts contacts by person key until that is switched off', async () => {
    const first = await post('/contacts', contact, key('k1'));
    const second = await post('/contacts', { ...contact, phone: '+12025550123' }, key('k2'));
    expect(second).toMatchObject({ status: 200, body: first.body });
    await sandbox.call('POST /crm/control', { contactUpsert: false });
    expect((await post('/contacts', contact, key('k3'))).status).toBe(201);
    expect(await stats()).toMatchObject({ contacts: 2, duplicateEffects: 1 });
    const found = (await sandbox.call('GET /crm/contacts?person_key=v1%3A0f')).body as Record<string, unknown>[];
    expect(found).toHaveLength(2);
    expect(found[0]).toMatchObject({ phone: '+12025550123', updates: 1 });
  });

  it('changes the contact of an id and no other, once per idempotency key', async () => {
    const { id } = (await post('/contacts', contact)).body as { id: string };
    await post('/contacts', { ...contact, person_key: 'v1:else' });
    const patch = (to: string, body: unknown) => sandbox.call(`PATCH /crm/contacts/${to}`, body, key('k9'));
    expect(await patch(id, { phone: '+12025550123' })).toMatchObject({ status: 200, body: { id } });
    expect((await patch(id, { phone: '+12025550123' })).headers.get('idempotency-replayed')).toBe('true');
    const contacts = (await sandbox.call('GET /crm/contacts')).body as Record<string, unknown>[];
    expect(contacts.map(({ phone, updates, name }) => ({ phone, updates, name }))).toEqual([
      { phone: '+12025550123', updates: 1, name: 'Ada Example' },
      { phone: undefined, updates: 0, name: 'Ada Example' },
    ]);
    expect((await sandbox.call('PATCH /crm/contacts/contact_gone', { name: 'x' })).status).toBe(404);
    expect((await sandbox.call(`GET /crm/contacts/${id}`)).status).toBe(405);
    expect(await stats()).toMatchObject({ contacts: 2, requests: 5, inFlight: 0 });
  });

  it('refuses a known external id with the id of its record while external ids are unique', async () => {
    await sandbox.call('POST /crm/control', { uniqueLeads: true });
    const first = await post('/leads', lead, key('k1'));
    expect((await post('/leads', lead, key('k1'))).status).toBe(201);
    expect(await post('/leads', lead, key('k2'))).toMatchObject({
      status: 409,
      body: { error: 'duplicate_external_id', ...(first.body as object) },
    });
    expect(await stats()).toMatchObject({ records: 1, duplicateEffects: 0 });
  });

  it('answers a check apart from requests, by rules of its own', async () => {
    expect(await sandbox.call('GET /crm/check')).toMatchObject({ status: 200, body: { ok: true } });
    await sandbox.call('POST /crm/control', { operation: 'check', status: 401 });
    expect((await sandbox.call('GET /crm/check')).status).toBe(401);
    expect((await post('/leads', lead)).status).toBe(201);
    expect(await stats()).toMatchObject({ checks: 2, requests: 1, lookups: 0 });
  });

  it('counts attempts after the first apart, by minute', async () => {
    await sandbox.call('POST /crm/control', { status: 503, times: 2 });
    for (const each of ['k1', 'k1', 'k1', 'k2']) await post('/leads', lead, key(each));
    await post('/leads', lead);
    const minutes = (await sandbox.call('GET /crm/minutes')).body as { first: number; again: number }[];
    const sum = (field: 'first' | 'again') => minutes.reduce((total, minute) => total + minute[field], 0);
    expect({ first: sum('first'), again: sum('again') }).toEqual({ first: 3, again: 2 });
  });

  it('forgets about keys when idempotency is off', async () => {
    await sandbox.call('POST /crm/control', { operation: 'lead', idempotency: 'off' });
    await post('/leads', lead, key('k1'));
    await post('/leads', lead, key('k1'));
    expect(await stats()).toMatchObject({ records: 2, duplicateEffects: 1 });
  });

  it('finds leads by external id as an array, with the trace context it received and its times', async () => {
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
    await post('/leads', lead, { traceparent });
    const found = (await sandbox.call(`GET /crm/leads?external_id=${lead.external_id}`)).body;
    expect(found).toEqual([expect.objectContaining({ ...lead, traceparent, id: expect.any(String), received_at: expect.any(String) })]);
    expect((await sandbox.call('GET /crm/leads?external_id=unknown')).body).toEqual([]);
    expect(await stats()).toMatchObject({ lookups: 2, requests: 1 });
  });

  it('hides what is younger than the search lag', async () => {
    await post('/leads', lead);
    await sandbox.call('POST /crm/control', { operation: 'lead', searchLagMs: 3_600_000 });
    expect((await sandbox.call(`GET /crm/leads?external_id=${lead.external_id}`)).body).toEqual([]);
    await sandbox.call('DELETE /crm/control');
    expect((await sandbox.call(`GET /crm/leads?external_id=${lead.external_id}`)).body).toHaveLength(1);
  });

  it('keeps marketing apart from the CRM', async () => {
    await sandbox.call('POST /marketing/contacts', contact);
    expect(await stats('/marketing')).toMatchObject({ contacts: 1, requests: 1 });
    expect(await stats()).toMatchObject({ contacts: 0, requests: 0 });
  });

  it('empties data and counters and keeps ids unique', async () => {
    const before = (await post('/leads', lead, key('k1'))).body as { id: string };
    await sandbox.call('DELETE /crm/data');
    expect(await stats()).toMatchObject({ records: 0, contacts: 0, duplicateEffects: 0, requests: 0, lookups: 0, maxInFlight: 0 });
    const after = (await post('/leads', lead, key('k1'))).body as { id: string };
    expect(after.id).not.toBe(before.id);
  });

  it('names what is wrong with a request and stores nothing', async () => {
    expect((await post('/leads', '{"external_id":')).status).toBe(400);
    expect(await post('/leads', { form: 'contact' })).toMatchObject({ status: 422, body: { field: 'external_id' } });
    expect(await post('/contacts', { name: 'Ada Example' })).toMatchObject({ status: 422, body: { field: 'person_key' } });
    expect((await sandbox.call('PUT /crm/leads', lead)).status).toBe(405);
    expect((await sandbox.call('GET /crm/nothing')).status).toBe(404);
    expect((await post('/leads', { ...lead, message: 'x'.repeat(1_100_000) })).status).toBe(413);
    expect(await stats()).toMatchObject({ records: 0, inFlight: 0 });
  });

  it('continues the trace of each request', async () => {
    const traceparent = `00-${'3'.repeat(32)}-${'4'.repeat(16)}-01`;
    await post('/leads', lead, { traceparent });
    expect(sandbox.spans[0]).toMatchObject({
      name: 'POST /crm/leads',
      ended: true,
      options: { kind: 'server', parent: { traceId: '3'.repeat(32), spanId: '4'.repeat(16) } },
    });
  });
});

describe('the sandbox CRM with a secret', () => {
  const secretBytes = Buffer.alloc(32, 7);
  const crmSecret = `whsec_${secretBytes.toString('base64')}`;
  const signed = (body: string, timestamp = Math.floor(Date.now() / 1000)) => ({
    'webhook-id': 'op-1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${createHmac('sha256', secretBytes).update(`op-1.${timestamp}.${body}`).digest('base64')}`,
  });

  it('refuses a check that is signed wrongly', async () => {
    const sandbox = await openSandbox({ crmSecret });
    expect((await sandbox.call('GET /crm/check', undefined, signed(''))).status).toBe(200);
    expect((await sandbox.call('GET /crm/check', undefined, signed('x'))).status).toBe(401);
    await sandbox.close();
  });

  it('refuses a wrong or old signature, and lets in a right one or none', async () => {
    const sandbox = await openSandbox({ crmSecret });
    const body = JSON.stringify(lead);
    const statusOf = async (headers: Record<string, string>) => (await sandbox.call('POST /crm/leads', body, headers)).status;
    expect(await statusOf(signed(body))).toBe(201);
    expect(await statusOf({})).toBe(201);
    expect(await statusOf(signed(`${body} `))).toBe(401);
    expect(await statusOf(signed(body, Math.floor(Date.now() / 1000) - 3600))).toBe(401);
    await sandbox.close();
  });
});
