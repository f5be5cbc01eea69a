import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type OpenSandbox, openSandbox } from '../spec/open-sandbox.js';

const idA = 'lead-a';
const idB = 'lead-b';

describe('rules of the sandbox', () => {
  let sandbox: OpenSandbox;
  const rule = (body: unknown) => sandbox.call('POST /crm/control', body);
  const postLead = (external_id: string, headers?: Record<string, string>) => sandbox.call('POST /crm/leads', { external_id }, headers);
  const records = async () => ((await sandbox.call('GET /crm/stats')).body as { records: number }).records;
  const failureOf = async (sent: Promise<unknown>): Promise<string> => {
    try {
      await sent;
      return 'answered';
    } catch (error) {
      const { cause } = error as { cause?: { code?: string } };
      return cause?.code ?? (error as Error).name;
    }
  };

  beforeEach(async () => {
    sandbox = await openSandbox();
  });
  afterEach(() => sandbox.close());

  it('answers with the status, body and headers of a rule, without a commit, so many times', async () => {
    await rule({ operation: 'lead', times: 2, status: 503, body: { code: 'busy' }, headers: { 'Retry-After': '7' } });
    const refused = await postLead(idA);
    expect(refused).toMatchObject({ status: 503, body: { code: 'busy' } });
    expect(refused.headers.get('retry-after')).toBe('7');
    expect((await postLead(idA)).status).toBe(503);
    expect((await postLead(idA)).status).toBe(201);
    expect(await records()).toBe(1);
  });

  it('lets the last matching rule win, and an empty rule make an exception', async () => {
    await rule({ status: 500 });
    await rule({ external_id: idA, status: 429 });
    await rule({ external_id: idB });
    expect((await postLead(idA)).status).toBe(429);
    expect((await postLead(idB)).status).toBe(201);
    expect((await postLead('lead-c')).status).toBe(500);
  });

  it('carries a rule out on each second request that it fits', async () => {
    await rule({ operation: 'lead', every: 2, times: 2, status: 503 });
    const statuses: number[] = [];
    for (let i = 0; i < 6; i += 1) statuses.push((await postLead(`lead-${i}`)).status);
    expect(statuses).toEqual([201, 503, 201, 503, 201, 201]);
  });

  it('counts how often a named rule was carried out, also when it has run out', async () => {
    await rule({ name: 'busy', operation: 'lead', external_id: idA, times: 2, status: 503 });
    await postLead(idB);
    for (let i = 0; i < 3; i += 1) await postLead(idA);
    expect((await sandbox.call('GET /crm/control/hits')).body).toEqual({ busy: 2 });
    expect((await sandbox.call(`GET /crm/calls?external_id=${idA}`)).body).toEqual({ contact: 0, lead: 3, lookup: 0 });
  });

  it('matches a campaign, and clears the rules of one name', async () => {
    await rule({ name: 'autumn', campaign: 'autumn', status: 503 });
    await rule({ name: 'other', external_id: idB, status: 502 });
    const autumn = () => sandbox.call('POST /crm/leads', { external_id: idA, campaign: 'autumn' });
    expect((await postLead(idA)).status).toBe(201);
    expect((await autumn()).status).toBe(503);
    await sandbox.call('DELETE /crm/control?name=autumn');
    expect((await autumn()).status).toBe(201);
    expect((await postLead(idB)).status).toBe(502);
  });

  it('counts the answers that nobody heard', async () => {
    await rule({ name: 'slow', times: 2, latencyMs: 150 });
    await postLead(idA);
    const abort = AbortSignal.timeout(40);
    const sent = fetch(`${sandbox.url}/crm/leads`, { method: 'POST', body: JSON.stringify({ external_id: idB }), signal: abort });
    expect(await failureOf(sent)).toBe('TimeoutError');
    const hits = async () => (await sandbox.call('GET /crm/control/hits')).body as Record<string, number>;
    while ((await hits())['slow:unheard'] === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await hits()).toEqual({ slow: 2, 'slow:unheard': 1 });
  });

  it('keeps the rules and records of every other CRM apart', async () => {
    await sandbox.call('POST /crm-other/control', { status: 503 });
    expect((await sandbox.call('POST /crm-other/leads', { external_id: idA })).status).toBe(503);
    expect((await postLead(idA)).status).toBe(201);
    expect((await sandbox.call('GET /crm-other/stats')).body).toMatchObject({ records: 0, requests: 1 });
  });

  it('matches lookups apart from writes', async () => {
    await rule({ operation: 'lookup', status: 502 });
    expect((await postLead(idA)).status).toBe(201);
    expect((await sandbox.call(`GET /crm/leads?external_id=${idA}`)).status).toBe(502);
  });

  it('keeps a switch in force under a later fault', async () => {
    await rule({ idempotency: false });
    await rule({ operation: 'lead', times: 1, reset: 'after' });
    const key = { 'idempotency-key': 'k1' };
    expect(await failureOf(postLead(idA, key))).not.toBe('answered');
    expect((await postLead(idA, key)).status).toBe(201);
    expect(await records()).toBe(2);
  });

  it('tears the connection down before or after the commit', async () => {
    await rule({ times: 1, reset: 'before' });
    expect(await failureOf(postLead(idA))).toMatch(/ECONNRESET|UND_ERR_SOCKET/);
    expect(await records()).toBe(0);
    await rule({ times: 1, reset: 'after' });
    expect(await failureOf(postLead(idA))).toMatch(/ECONNRESET|UND_ERR_SOCKET/);
    expect(await records()).toBe(1);
  });

  it('hangs after the commit until the client gives up', async () => {
    await rule({ operation: 'lead', times: 1, hang: true });
    const abort = new AbortController();
    const sent = fetch(`${sandbox.url}/crm/leads`, { method: 'POST', body: JSON.stringify({ external_id: idA }), signal: abort.signal });
    const ended = failureOf(sent);
    while ((await records()) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    abort.abort();
    expect(await ended).toBe('AbortError');
    const inFlight = async () => ((await sandbox.call('GET /crm/stats')).body as { inFlight: number }).inFlight;
    while ((await inFlight()) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  it('answers 2xx without a commit when told to drop it', async () => {
    await rule({ times: 1, dropCommit: true });
    const dropped = await postLead(idA, { 'idempotency-key': 'k1' });
    expect(dropped).toMatchObject({ status: 201, body: { id: expect.any(String) } });
    expect(await records()).toBe(0);
    expect((await postLead(idA, { 'idempotency-key': 'k1' })).status).toBe(201);
    expect(await records()).toBe(1);
  });

  it('commits and answers 500 when a refusal must not drop the commit', async () => {
    await rule({ times: 1, status: 500, dropCommit: false });
    expect((await postLead(idA)).status).toBe(500);
    expect(await records()).toBe(1);
  });

  it('sends text bodies as they are', async () => {
    await rule({ times: 1, status: 200, body: '<html>' });
    expect(await postLead(idA)).toMatchObject({ status: 200, body: '<html>' });
  });

  it('never answers before the latency is over', async () => {
    await rule({ latencyMs: 60 });
    const begun = performance.now();
    await postLead(idA);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(59);
  });

  it('refuses a rule with an unknown or malformed field by its name', async () => {
    expect(await rule({ latency: 5 })).toMatchObject({ status: 400, body: { errors: [expect.stringContaining('latency')] } });
    expect(await rule({ reset: 'during' })).toMatchObject({ status: 400, body: { errors: [expect.stringContaining('reset')] } });
    expect((await rule('nonsense')).status).toBe(400);
    expect((await sandbox.call('GET /crm/control')).body).toEqual([]);
  });

  it('clears all rules', async () => {
    await rule({ status: 500 });
    await sandbox.call('DELETE /crm/control');
    expect((await postLead(idA)).status).toBe(201);
  });
});
