import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type DestinationConfig, hmacs, parseSite, type ReadingConfig } from '#runtime';
import { fillTemplate } from './template.js';
import { WebhookConnector } from './webhook-connector.js';

const secret = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
const from = new Date('2026-01-01T00:00:00Z');
const to = new Date('2026-01-02T00:00:00Z');
const page = { kind: 'lead', from, to, limit: 50, timeoutMs: 1_000 };
const byKey = { kind: 'lead', timeoutMs: 1_000 };

describe('the records that the webhook connector reads', () => {
  let server: Server;
  let asked: { url: string; signature: string | string[] | undefined }[];
  let answer: { status?: number; body: unknown; headers?: Record<string, string> };
  let base: DestinationConfig;
  let open: WebhookConnector[];

  const destination = (own: string): DestinationConfig => {
    const site = parseSite(
      `sources: [{ id: s, organization: o }]
routing: []
destinations:
  crm:
    connector: webhook
    operations: [contact, lead]
    base_url: http://127.0.0.1:${(server.address() as AddressInfo).port}/crm
    secret: { file: s }
    lookup_timeout_ms: 1000
    connect_timeout_ms: 500
    ${own}
`,
      {},
    );
    return site.destinations.crm as DestinationConfig;
  };
  const templates = `reading:
      limit: 3
      many: { lead: { keys: "/leads?external_id={external_ids*}", refs: "/leads?ids={refs}" } }
      changed_since: { lead: "/leads?since={from}&until={to}&limit={limit}&cursor={cursor}" }`;
  const connector = (config = base): WebhookConnector => {
    const made = new WebhookConnector({ name: 'crm', config, secret, hmacs: hmacs(Buffer.alloc(32, 1)) });
    open.push(made);
    return made;
  };
  const reading = (record: Partial<ReadingConfig['record']>): DestinationConfig => {
    if (base.reading === undefined) throw new Error('no reading');
    return { ...base, reading: { ...base.reading, record: { ...base.reading.record, ...record } } };
  };

  beforeEach(async () => {
    asked = [];
    open = [];
    answer = { body: [] };
    server = createServer((request, response) => {
      asked.push({ url: request.url ?? '', signature: request.headers['webhook-signature'] });
      response.writeHead(answer.status ?? 200, answer.headers);
      response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = destination(templates);
  });
  afterEach(async () => {
    await Promise.all(open.map((one) => one.close()));
    await new Promise((resolve) => server.close(resolve));
  });

  it('are none where nothing is configured, and the capabilities say so', () => {
    const plain = connector(destination('check: /check'));
    expect(plain.readMany).toBeUndefined();
    expect(plain.changedSince).toBeUndefined();
    expect(plain.capabilities).toMatchObject({ changedSince: false });
    expect(plain.capabilities.readMany).toBeUndefined();
    expect(connector().capabilities).toMatchObject({ changedSince: true, readMany: 3 });
  });

  it('are asked for by several keys or ids in one signed call', async () => {
    await connector().readMany?.({ ...byKey, keys: ['a', 'b&c'] });
    await connector().readMany?.({ ...byKey, refs: ['1', '2,3'] });
    expect(asked.map(({ url }) => url)).toEqual(['/crm/leads?external_id=a&external_id=b%26c', '/crm/leads?ids=1,2%2C3']);
    expect(asked[0]?.signature).toMatch(/^v1,/);
  });

  it('say what they are, by the places that the site file names', async () => {
    answer.body = [
      {
        id: 7,
        external_id: 'a',
        version: 3,
        status: 'new',
        created_at: '2026-01-01T10:00:00+02:00',
        changed_at: 1767261600000,
        changed_by: 'us',
        contact_id: 'c1',
        owner: null,
        form: 'f',
      },
      { id: '8', external_id: 'b' },
    ];
    const read = await connector().readMany?.({ ...byKey, keys: ['a', 'b'] });
    expect(read).toMatchObject({
      ok: true,
      records: [
        {
          kind: 'lead',
          ref: '7',
          key: 'a',
          version: '3',
          status: 'new',
          createdAt: '2026-01-01T08:00:00.000Z',
          changedAt: '2026-01-01T10:00:00.000Z',
          changedBy: 'us',
          links: { contact: 'c1', owner: undefined },
          fields: { form: 'f' },
        },
        { ref: '8', key: 'b', links: {} },
      ],
    });
    if (!read?.ok) throw new Error('not read');
    expect(Object.keys(read.records[0]?.links ?? {})).toEqual(['contact', 'owner']);
    expect(read.records[1]).toMatchObject({ version: undefined, status: undefined, changedBy: undefined, changedAt: undefined });
  });

  it('are found in a CRM that keeps them elsewhere', async () => {
    answer.body = {
      results: [{ uuid: 'r1', meta: { rev: 'x9', by: 'api-user' }, attributes: { external_id: 'a', form: 'f' } }],
      paging: { next: 'p2' },
    };
    const elsewhere = reading({
      id: 'uuid',
      version: 'meta.rev',
      changedBy: 'meta.by',
      ours: ['api-user'],
      fields: 'attributes',
      next: 'paging.next',
    });
    expect(await connector(elsewhere).changedSince?.(page)).toMatchObject({
      ok: true,
      records: [{ ref: 'r1', key: 'a', version: 'x9', changedBy: 'us', fields: { form: 'f' } }],
      next: 'p2',
    });
    expect(
      await connector({ ...elsewhere, reading: reading({ ...elsewhere.reading?.record, ours: ['somebody'] }).reading }).changedSince?.(
        page,
      ),
    ).toMatchObject({
      records: [{ changedBy: 'other' }],
    });
  });

  it('keep every digit of ids, versions, links and values that a double would round', async () => {
    answer.body =
      '{"data":[{"id":9007199254740993,"external_id":"a","version":9007199254740995,"contact_id":9007199254740997,"custom":{"n":9007199254740999}}]}';
    expect(await connector().readMany?.({ ...byKey, refs: ['9007199254740993'] })).toMatchObject({
      records: [
        {
          ref: '9007199254740993',
          version: '9007199254740995',
          links: { contact: '9007199254740997' },
          fields: { custom: { n: '9007199254740999' } },
        },
      ],
    });
    expect(await connector().readMany?.({ ...byKey, refs: ['9007199254740992'] })).toMatchObject({ ok: true, records: [] });
  });

  it('are those that were asked for alone', async () => {
    answer.body = [{ id: '1', external_id: 'a' }, { id: '2', external_id: 'z' }, { id: '3' }];
    expect(await connector().readMany?.({ ...byKey, keys: ['a'] })).toMatchObject({ records: [{ ref: '1' }] });
    expect(await connector().readMany?.({ ...byKey, refs: ['3', '9'] })).toMatchObject({ records: [{ ref: '3' }] });
  });

  it('come by pages of a time, without what is of another', async () => {
    answer.body = {
      items: [
        { id: '1', external_id: 'a', created_at: '2026-01-01T12:00:00Z', changed_at: '2026-03-01T00:00:00Z' },
        { id: '2', external_id: 'b', created_at: '2025-01-01T00:00:00Z', changed_at: '2026-01-02T00:00:00Z' },
        { id: '3', external_id: 'c', changed_at: '2026-01-01T00:00:00Z' },
        { id: '4', external_id: 'd' },
      ],
      next: 17,
    };
    const first = await connector().changedSince?.(page);
    expect(first).toMatchObject({ records: [{ ref: '1' }, { ref: '3' }, { ref: '4' }], next: '17' });
    answer.body = { items: [] };
    expect(await connector().changedSince?.({ ...page, cursor: '17' })).toEqual({ ok: true, records: [] });
    expect(asked.map(({ url }) => url)).toEqual([
      '/crm/leads?since=2026-01-01T00%3A00%3A00.000Z&until=2026-01-02T00%3A00%3A00.000Z&limit=50',
      '/crm/leads?since=2026-01-01T00%3A00%3A00.000Z&until=2026-01-02T00%3A00%3A00.000Z&limit=50&cursor=17',
    ]);
  });

  const refusals: [string, typeof answer, object][] = [
    [
      'a page that is not the last',
      { body: { items: [{ id: 1, external_id: 'a' }], next: 'x' } },
      { class: 'permanent', code: 'answer_has_more_pages' },
    ],
    ['a record without an id', { body: [{ external_id: 'a' }] }, { class: 'permanent', code: 'answer_without_id' }],
    ['a page of a proxy', { body: '<html>' }, { class: 'permanent', code: 'unreadable_answer' }],
    ['too many requests', { status: 429, body: {}, headers: { 'retry-after': '7' } }, { class: 'throttled', retryAfterMs: 7_000 }],
    ['a refusal of our key', { status: 401, body: { code: 'bad_key' } }, { class: 'auth', code: 'bad_key' }],
    ['a server that is not well', { status: 503, body: {} }, { class: 'transient', code: 'http_503' }],
    ['a path that is not there', { status: 404, body: {} }, { class: 'permanent', code: 'http_404' }],
  ];
  it.each(refusals)('are none on %s', async (_what, given, refusal) => {
    answer = given;
    expect(await connector().readMany?.({ ...byKey, keys: ['a'] })).toMatchObject({ ok: false, ...refusal });
  });

  it('are none where the CRM is away, where nothing says how, and where too much is asked', async () => {
    expect(await connector().readMany?.({ ...byKey, keys: ['a', 'b', 'c', 'd'] })).toMatchObject({ ok: false, code: 'too_many_keys' });
    expect(await connector().readMany?.({ ...byKey, kind: 'contact', keys: ['a'] })).toMatchObject({ ok: false, class: 'unsupported' });
    expect(await connector().readMany?.({ ...byKey, keys: [] })).toEqual({ ok: true, records: [] });
    expect(asked).toEqual([]);
    const away = connector({ ...base, baseUrl: 'http://127.0.0.1:9' });
    expect(await away.changedSince?.(page)).toMatchObject({ ok: false, class: 'transient' });
  });

  it('stop where a page names itself as the next one', async () => {
    answer.body = { items: [], next: 'p1' };
    expect(await connector().changedSince?.({ ...page, cursor: 'p1' })).toMatchObject({ ok: false, code: 'cursor_stands_still' });
  });
});

describe('a template', () => {
  it('holds lists with commas or as repeated parameters, and leaves a parameter without a value out', () => {
    const values = { refs: ['a b', 'c'], cursor: '', limit: '5' };
    expect(fillTemplate('/x?q={refs*}&limit={limit}&cursor={cursor}', values)).toBe('/x?q=a%20b&q=c&limit=5');
    expect(fillTemplate('/x/{refs}', values)).toBe('/x/a%20b,c');
    expect(fillTemplate('/x?filter=id:{refs}', values)).toBe('/x?filter=id:a%20b,c');
    expect(fillTemplate('/x?cursor={cursor}', values)).toBe('/x');
    expect(fillTemplate('/x?fixed', values)).toBe('/x?fixed');
  });
});
