import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type OpenSandbox, openSandbox } from '../spec/open-sandbox.js';
import { CrmStore } from './crm-store.js';

type Shown = Record<string, unknown> & { id: string; version: number; changed_at: string };

const secretBytes = Buffer.alloc(32, 7);

describe('what the sandbox CRM tells of its records', () => {
  let sandbox: OpenSandbox;
  const signed = (body: string) => {
    const at = Math.floor(Date.now() / 1000);
    return {
      'webhook-id': 'op-1',
      'webhook-timestamp': String(at),
      'webhook-signature': `v1,${createHmac('sha256', secretBytes).update(`op-1.${at}.${body}`).digest('base64')}`,
    };
  };
  const ours = async (request: string, fields: unknown): Promise<string> => {
    const body = JSON.stringify(fields);
    return ((await sandbox.call(request, body, signed(body))).body as Shown).id;
  };
  const lead = (n: number, more = {}) => ours('POST /crm/leads', { external_id: `event-${n}`, message: 'Hello', ...more });
  const byHand = async (request: string, body?: unknown) => (await sandbox.call(request, body)).body as { id: string; ids: string[] };
  const get = async (path: string) => (await sandbox.call(`GET /crm${path}`)).body as Shown[];
  const page = async (query: string) => (await sandbox.call(`GET /crm/leads?${query}`)).body as { items: Shown[]; next?: string };
  const stats = async () => (await sandbox.call('GET /crm/stats')).body;
  const aLongTimeAgo = 'changed_since=2000-01-01T00:00:00Z';

  beforeEach(async () => {
    sandbox = await openSandbox({ crmSecret: `whsec_${secretBytes.toString('base64')}` });
  });
  afterEach(() => sandbox.close());

  it('counts a version with each change, and says whether it was ours', async () => {
    const id = await lead(1);
    expect((await get('/leads?external_id=event-1'))[0]).toMatchObject({ id, version: 1, status: 'new', owner: 'desk', changed_by: 'us' });
    await byHand(`PATCH /crm/control/records/${id}`, { status: 'contacted', owner: null });
    expect((await get('/leads?external_id=event-1'))[0]).toMatchObject({
      version: 2,
      status: 'contacted',
      owner: null,
      changed_by: 'other',
    });
    expect(await ours(`PATCH /crm/leads/${id}`, { message: 'Hello again' })).toBe(id);
    const [changed] = await get('/leads?external_id=event-1');
    expect(changed).toMatchObject({ version: 3, status: 'contacted', message: 'Hello again', changed_by: 'us' });
    expect(await sandbox.call(`PATCH /crm/leads/${id}`, { message: 'by a script' })).toMatchObject({ status: 200 });
    expect((await get('/leads?external_id=event-1'))[0]).toMatchObject({ version: 4, changed_by: 'other' });
    expect(await sandbox.call('PATCH /crm/leads/lead_gone', { message: 'x' })).toMatchObject({ status: 404 });
  });

  it('gives many records by key or id, every twin of them, and none of the others', async () => {
    const ids = [await lead(1), await lead(2), await lead(2), await lead(3)];
    const of = async (query: string) => (await get(`/leads?${query}`)).map(({ id }) => id);
    expect(await of('external_id=event-2&external_id=event-3&external_id=event-9')).toEqual(ids.slice(1));
    expect(await of(`id=${ids[0]}&id=${ids[3]}&id=lead_gone`)).toEqual([ids[0], ids[3]]);
    expect((await sandbox.call(`GET /crm/leads?${'id=x&'.repeat(201)}`)).status).toBe(400);
    expect(await get(`/leads?${Array.from({ length: 200 }, (_, n) => `external_id=${'k'.repeat(100)}${n}`).join('&')}`)).toEqual([]);
    const contact = await ours('POST /crm/contacts', { person_key: 'v1:0f', name: 'Ada Example' });
    expect((await get('/contacts?person_key=v1:0e&person_key=v1:0f')).map(({ id }) => id)).toEqual([contact]);
  });

  it('lists what was changed, oldest first, by pages and with each record once', async () => {
    const ids = [await lead(1), await lead(2), await lead(3), await lead(4), await lead(5)];
    await byHand(`PATCH /crm/control/records/${ids[1]}`, { status: 'lost' });
    const first = await page(`${aLongTimeAgo}&limit=3`);
    expect(first.items.map(({ id }) => id)).toEqual([ids[0], ids[2], ids[3]]);
    const second = await page(`${aLongTimeAgo}&limit=3&cursor=${first.next}`);
    expect(second.items.map(({ id }) => id)).toEqual([ids[4], ids[1]]);
    expect(second.next).toBeUndefined();
  });

  it('lists a record that was made in the window though it was changed after it, and nothing from outside', async () => {
    const id = await lead(1);
    const made = Date.parse((await get('/leads'))[0]?.created_at as string);
    while (Date.now() <= made + 1) await new Promise((resolve) => setTimeout(resolve, 1));
    await byHand(`PATCH /crm/control/records/${id}`, { status: 'lost' });
    const within = (from: number, to: number) =>
      page(`changed_since=${new Date(from).toISOString()}&changed_before=${new Date(to).toISOString()}`);
    expect((await within(made, made + 1)).items).toMatchObject([{ id, version: 2 }]);
    expect((await within(made + 1, Date.now() + 1)).items).toMatchObject([{ id }]);
    expect((await within(made - 1_000, made)).items).toEqual([]);
    expect((await sandbox.call('GET /crm/leads?changed_since=yesterday')).status).toBe(400);
  });

  it('hides what is younger than the search lag from keys, ids and changes alike', async () => {
    const id = await lead(1);
    await sandbox.call('POST /crm/control', { operation: 'lead', searchLagMs: 3_600_000 });
    expect(await get('/leads?external_id=event-1&external_id=event-2')).toEqual([]);
    expect(await get(`/leads?id=${id}`)).toEqual([]);
    expect((await page(aLongTimeAgo)).items).toEqual([]);
  });

  it('takes what people do by hand, keeps the figures right, and counts none of it as a request', async () => {
    const first = await lead(1);
    const twin = (await byHand(`POST /crm/control/records/${first}/copy`)).id;
    const [typed, another] = (await byHand('POST /crm/control/records/lead', [{ message: 'by phone' }, { message: 'by phone' }])).ids;
    expect(await stats()).toMatchObject({ records: 4, duplicateEffects: 1, requests: 1, lookups: 0 });
    expect(await get(`/leads?id=${twin}&id=${typed}`)).toMatchObject([{ external_id: 'event-1' }, { changed_by: 'other', version: 1 }]);
    await byHand(`DELETE /crm/control/records/${first}`);
    expect(await stats()).toMatchObject({ records: 3, duplicateEffects: 0 });
    expect((await get('/leads?external_id=event-1')).map(({ id }) => id)).toEqual([twin]);
    await byHand(`PATCH /crm/control/records/${another}`, { external_id: 'event-1' });
    expect(await stats()).toMatchObject({ records: 3, duplicateEffects: 1 });
    expect((await page(aLongTimeAgo)).items.map(({ id }) => id)).toEqual([twin, typed, another]);
    expect((await sandbox.call(`DELETE /crm/control/records/${first}`)).status).toBe(404);
    expect((await sandbox.call('POST /crm/control/records/lead', 'nonsense')).status).toBe(400);
    await byHand('POST /crm/control/records/contact?by=us', { person_key: 'v1:0f' });
    expect(await get('/contacts')).toMatchObject([{ person_key: 'v1:0f', changed_by: 'us' }]);
  });
});

describe('the changes of the sandbox CRM', () => {
  it('are listed right however often a record was changed', () => {
    const store = new CrmStore('x', () => undefined);
    const writing = (text: string) => ({ text, by: 'other' as const, receivedMs: 0 });
    const often = store.create('lead', 'a', writing('{}'));
    const once = store.create('lead', 'b', writing('{}'));
    for (let n = 0; n < 2_500; n += 1) store.update(often, writing('{"external_id":"a"}'));
    const { items } = store.inWindow('lead', { fromMs: 0, toMs: Number.POSITIVE_INFINITY, limit: 10 }, Number.POSITIVE_INFINITY);
    expect(items).toMatchObject([
      { id: once.id, version: 1 },
      { id: often.id, version: 2_501 },
    ]);
  });
});
