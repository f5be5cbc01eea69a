import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { wrongIn } from '../../../test/support/api-contract.js';
import { runWords } from '../../../test/support/leadctl-rig.js';

interface Asked {
  method?: string;
  url?: string;
  token?: string;
  body?: unknown;
}

let server: Server;
let runDir: string;
let printed: string;
let said: string;
let asked: Asked[];
/** Answers in their order; the last one is given again. */
let answers: { status?: number; body: unknown; type?: string }[];

beforeEach(async () => {
  [printed, said, asked, answers] = ['', '', [], []];
  jest.spyOn(process.stdout, 'write').mockImplementation(((text: unknown) => {
    printed += String(text);
    return true;
  }) as never);
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => {
      text += String(chunk);
    });
    request.on('end', () => {
      const { method, url, headers } = request;
      asked.push({ method, url, token: headers.authorization?.replace('Bearer ', ''), ...(text !== '' && { body: JSON.parse(text) }) });
      const { status = 200, body, type } = (answers.length > 1 ? answers.shift() : answers[0]) ?? { body: {} };
      response
        .writeHead(status, { 'content-type': type ?? (status < 400 ? 'application/json' : 'application/problem+json') })
        .end(type === undefined ? JSON.stringify(body) : String(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  runDir = mkdtempSync(path.join(tmpdir(), 'run-'));
  const operator = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const operatorTokens = { viewer: 'tok-viewer', operator: 'tok-operator', approver: 'tok-approver', admin: 'tok-admin' };
  writeFileSync(path.join(runDir, 'endpoints.json'), JSON.stringify({ operator, operatorTokens }));
});
afterEach(async () => {
  jest.restoreAllMocks();
  await new Promise((resolve) => server.close(resolve));
  rmSync(runDir, { recursive: true });
});

async function run(...words: string[]): Promise<number> {
  const ended = await runWords(words);
  said = ended.said ?? said;
  return ended.code;
}
const here = (): string[] => ['--run-dir', runDir];
const id = '0197a2f0-0000-7000-8000-000000000001';
const hash = '0a'.repeat(32);
const at = '2026-06-01T12:00:00.000Z';
const group = '0197a2f0-0000-5000-8000-00000000000a';

/** Whatever the answers of a test are: a request that the API would not take is none. */
afterEach(() => expect(asked.map((request) => [request.url, wrongIn(request)])).toEqual(asked.map(({ url }) => [url, []])));

describe('who asks', () => {
  it('is the demo person of the role that is named, and a viewer where none is', async () => {
    await run('me', ...here());
    await run('me', ...here(), '--as', 'approver');
    expect(asked).toMatchObject([
      { url: '/v1/me', token: 'tok-viewer' },
      { url: '/v1/me', token: 'tok-approver' },
    ]);
  });

  it('is whoever has the token, at any address', async () => {
    const { port } = server.address() as AddressInfo;
    expect(await run('me', '--url', `http://127.0.0.1:${port}/`, '--token', 'mine')).toBe(0);
    expect(asked).toMatchObject([{ url: '/v1/me', token: 'mine' }]);
  });

  it.each([
    [['me', '--url', 'http://127.0.0.1:1'], 'LEADCTL_TOKEN'],
    [['me', '--url', 'ftp://x', '--token', 't'], '--url'],
    [['me', '--run-dir', '/nowhere'], 'endpoints.json'],
  ])('%j is refused with what is missing, exit 2', async (words, name) => {
    expect(await run(...words)).toBe(2);
    expect(said).toContain(name);
  });
});

describe('what a person does', () => {
  it.each([
    [['search', id], { method: 'POST', url: '/v1/search', body: { text: id, kind: 'auto' } }, { items: [] }],
    [['queues', 'list', '--tab', 'held', '--destination', 'crm'], { url: '/v1/dead-letters?destination=crm&tab=held' }, { items: [] }],
    [['dead-letters', 'list', '--as', 'viewer'], { url: '/v1/dead-letters?state=open' }, { items: [] }],
    [['queues', 'groups', '--tab', 'uncertain'], { url: '/v1/dead-letters/groups?tab=uncertain' }, { items: [] }],
    [['queues', 'groups', '--class', 'auth'], { url: '/v1/dead-letters/groups?class=auth' }, { items: [] }],
    [
      ['queues', 'list', '--code', 'http_422', '--schema-id', '4'],
      { url: '/v1/dead-letters?code=http_422&schema_id=4&tab=all' },
      { items: [] },
    ],
    [['queues', 'list', '--no-code', '--no-schema-id'], { url: '/v1/dead-letters?no_code=true&no_schema_id=true&tab=all' }, { items: [] }],
    [['queues', 'groups', '--no-code', '--schema-id', '0'], { url: '/v1/dead-letters/groups?no_code=true&schema_id=0' }, { items: [] }],
    [
      ['queues', 'assign', '--id', id, '--to', 'olga', '--reason', 'her shift'],
      { url: '/v1/dead-letters/assign', body: { ids: [id], assignee: 'olga', reason: 'her shift' } },
      { letters: 1 },
    ],
    [
      ['queues', 'note', 'their ticket 42', '--group', group, '--as-of', '2026-06-01T12:00:00Z'],
      { url: '/v1/dead-letters/note', body: { group: { key: group, as_of: '2026-06-01T12:00:00Z' }, text: 'their ticket 42' } },
      { letters: 3 },
    ],
    [
      ['queues', 'disposition', 'investigate', '--id', id, '--reason', 'typo'],
      { url: '/v1/dead-letters/disposition', body: { ids: [id], disposition: 'investigate', reason: 'typo' } },
      {},
    ],
    [
      ['batches', 'draft', '--destination', 'crm', '--rate', '200', '--reason', 'they are back'],
      { url: '/v1/batches', body: { filter: { destination: 'crm' }, rate_per_s: 200, reason: 'they are back' } },
      { batch_id: id, items: 3 },
    ],
    [
      ['batches', 'draft', '--class', 'rejected', '--no-code', '--schema-id', '4', '--reason', 'mended'],
      { url: '/v1/batches', body: { filter: { class: 'rejected', no_code: true, schema_id: 4 }, reason: 'mended' } },
      { batch_id: id, items: 3 },
    ],
    [
      ['batches', 'draft', '--code', 'http_422', '--no-schema-id', '--max', '5000', '--reason', 'mended'],
      { url: '/v1/batches', body: { filter: { code: 'http_422', no_schema_id: true }, max: 5_000, reason: 'mended' } },
      { batch_id: id, items: 3 },
    ],
    [['batches', 'dry-run', id], { method: 'POST', url: `/v1/batches/${id}/dry-run` }, {}],
    [['batches', 'approve', id, '--hash', hash], { url: `/v1/batches/${id}/approve`, body: { hash } }, {}],
    [['batches', 'pause', id, '--reason', 'lunch'], { url: `/v1/batches/${id}/pause`, body: { reason: 'lunch' } }, {}],
    [['batches', 'resume', id, '--reason', 'back'], { url: `/v1/batches/${id}/resume`, body: { reason: 'back' } }, {}],
    [
      ['batches', 'edit', id, '--rate', '5', '--exclude', id, '--reason', 'slower'],
      { url: `/v1/batches/${id}/edit`, body: { rate_per_s: 5, exclude_event_ids: [id], reason: 'slower' } },
      {},
    ],
    [['batches', 'stop', id, '--reason', 'wrong', '--as', 'operator'], { url: `/v1/batches/${id}/stop`, body: { reason: 'wrong' } }, {}],
    [['batches', 'items', id, '--outcome', 'failed'], { url: `/v1/batches/${id}/items?outcome=failed` }, { items: [] }],
    [
      ['lead', 'consent-withdraw', id, '--reason', 'a letter'],
      { method: 'POST', url: `/v1/leads/${id}/consent`, body: { given: false, reason: 'a letter' } },
      { event_id: id, result: 'withdrawn' },
    ],
    [
      ['deliveries', 'lookup', id, 'crm', '--operation-key', 'k'],
      { url: `/v1/leads/${id}/deliveries/lookup`, body: { service: 'crm-writer', destination: 'crm', operation_key: 'k' } },
      { applied: true },
    ],
    [
      ['deliveries', 'evidence', id, 'crm', '--operation-key', 'k', '--absent', '--reason', 'looked', '--as', 'operator'],
      { url: `/v1/leads/${id}/deliveries/evidence`, body: { operation_key: 'k', finding: { kind: 'absent' }, reason: 'looked' } },
      { applied: true, state: 'waiting' },
    ],
    [
      ['deliveries', 'discard', id, 'crm', '--reason', 'old', '--evidence', 'ticket 9', '--as', 'operator'],
      { url: `/v1/leads/${id}/deliveries/discard`, body: { destination: 'crm', reason: 'old', evidence: 'ticket 9' } },
      { applied: true, state: 'discarded' },
    ],
    [['corrections', 'list', '--state', 'draft', '--event-id', id], { url: `/v1/corrections?event_id=${id}&state=draft` }, { items: [] }],
    [['corrections', 'show', id], { method: 'GET', url: `/v1/corrections/${id}` }, { state: 'failed', fields: [], operations: [] }],
    [
      ['corrections', 'approve', id, '--hash', hash],
      { method: 'POST', url: `/v1/corrections/${id}/approve`, body: { hash } },
      { fields: [], operations: [] },
    ],
    [['destinations', 'list', '--as', 'viewer'], { method: 'GET', url: '/v1/destinations' }, { items: [], unavailable: [] }],
    [
      ['destinations', 'hold', 'crm', '--reason', 'their change', '--as', 'operator'],
      { url: '/v1/destinations/crm/hold', body: { reason: 'their change', service: 'crm-writer' } },
      {},
    ],
    [
      ['destinations', 'release', 'crm', '--reason', 'done', '--since', at, '--as', 'operator'],
      { url: '/v1/destinations/crm/release', body: { reason: 'done', service: 'crm-writer', since: at } },
      {},
    ],
    [['destinations', 'test', 'a/b'], { method: 'POST', url: '/v1/destinations/a%2Fb/test' }, { event_id: id }],
    [
      ['erasures', 'request', '--event-id', id, '--reason', 'request 17'],
      { url: '/v1/erasures', body: { event_id: id, reason: 'request 17' } },
      { places: [], tasks: [] },
    ],
    [['erase', 'approve', id, '--hash', hash], { url: `/v1/erasures/${id}/approve`, body: { hash } }, { places: [], tasks: [] }],
    [['erasures', 'list'], { method: 'GET', url: '/v1/erasures' }, { items: [] }],
    [
      ['overview'],
      { method: 'GET', url: '/v1/overview' },
      { counts: [], oldest: [], balance: null, work_by_owner: [], reconciliation: null, recent_batches: [] },
    ],
    [
      ['reconcile', 'run', 'crm', '--from', '2026-06-01T00:00:00Z', '--form', 'contact', '--reason', 'after the outage'],
      {
        method: 'POST',
        url: '/v1/reconciliation/runs',
        body: { destination: 'crm', from: '2026-06-01T00:00:00Z', form: 'contact', reason: 'after the outage' },
      },
      { run_id: id },
    ],
    [['reconcile', 'watch', id], { url: `/v1/reconciliation/runs?run_id=${id}` }, { items: [] }],
    [['reconcile', 'runs', '--destination', 'crm'], { url: '/v1/reconciliation/runs?destination=crm' }, { items: [] }],
    [['reconcile', 'stop', id, '--reason', 'noon'], { url: `/v1/reconciliation/runs/${id}/stop`, body: { reason: 'noon' } }, {}],
    [
      ['reconcile', 'diff', '--class', 'missing', '--run', id],
      { url: `/v1/reconciliation/discrepancies?class=missing&run_id=${id}&state=open` },
      { items: [] },
    ],
    [['reconcile', 'diff', '--state', 'any'], { url: '/v1/reconciliation/discrepancies' }, { items: [] }],
    [
      ['reconcile', 'repair', '--class', 'missing', '--rate', '5', '--reason', 'lost there'],
      { url: '/v1/reconciliation/repairs', body: { filter: { class: 'missing' }, rate_per_s: 5, reason: 'lost there' } },
      { batch_id: id, hash: 'h', items: 1, discrepancies: 1, left_out: {} },
    ],
    [
      ['reconcile', 'repair', '--id', id, '--reason', 'lost there'],
      { url: '/v1/reconciliation/repairs', body: { ids: [id], reason: 'lost there' } },
      { batch_id: id, hash: 'h', items: 1, discrepancies: 1, left_out: { no_repair: 2 } },
    ],
    [
      ['reconcile', 'accept', id, '--reason', 'they are right'],
      { url: `/v1/reconciliation/discrepancies/${id}/accept`, body: { reason: 'they are right' } },
      {},
    ],
    [['reconcile', 'balance', '--from', '2026-06-01'], { url: '/v1/reconciliation/balances?from=2026-06-01' }, { items: [] }],
    [['audit', 'list', '--about', id], { url: `/v1/audit?subject=${id}` }, { items: [] }],
    [['audit', 'verify', '--as', 'viewer'], { url: '/v1/audit/verify' }, { ok: true }],
  ])('%j asks for it once', async (words, expected, body) => {
    answers = [{ body }];
    const code = await run('--json', ...words, ...here());
    expect(asked).toMatchObject([expected]);
    expect(JSON.parse(printed)).toEqual(body);
    expect([0, 3]).toContain(code);
  });

  it.each([
    ['queues', 'disposition', 'investigate'],
    ['dead-letters', 'dismiss-group', group, '--expected', '3'],
    ['batches', 'draft', '--destination', 'crm'],
    ['batches', 'pause', id],
    ['batches', 'resume', id],
    ['queues', 'assign', '--id', id, '--to', 'olga'],
    ['erasures', 'request', '--event-id', id],
    ['destinations', 'hold', 'crm', '--as', 'operator'],
    ['lead', 'reveal', id],
    ['lead', 'consent-withdraw', id],
    ['corrections', 'draft', id, 'crm'],
    ['reconcile', 'repair', '--class', 'missing'],
    ['reconcile', 'accept', id],
    ['reconcile', 'stop', id],
  ])('%s %s needs a reason, and asks nobody without one', async (...words) => {
    expect(await run(...words, ...here())).toBe(2);
    expect(asked).toEqual([]);
  });

  it('decides on a group as of the moment it was shown, and says about how many letters', async () => {
    const said: string[] = [];
    jest.spyOn(process.stderr, 'write').mockImplementation(((words: unknown) => said.push(String(words)) > 0) as never);
    const as_of = '2026-06-01T12:00:00.000Z';
    answers = [
      { body: { as_of, items: [{ key: 'g', class: 'auth', destination: 'crm', code: null, count: 7 }] } },
      { body: { letters: 7 } },
    ];
    expect(await run('queues', 'disposition', 'discard', '--group', group, '--reason', 'old', ...here())).toBe(0);
    expect(asked).toMatchObject([
      { url: `/v1/dead-letters/groups?group=${group}` },
      { body: { group: { key: group, as_of }, disposition: 'discard' } },
    ]);
    expect(said.join('')).toContain(`7 of auth crm, as of ${as_of}`);
    expect(printed).toMatch(/done\s+7/);
  });

  it('dismisses a group page by page as it was shown, says what came of all of it, and ends with 3 where some stay open', async () => {
    const as_of = '2026-06-01T12:00:00.000Z';
    const left = { delivery_decides: 0, in_batch: 0, closed_before: 0 };
    const words = ['dead-letters', 'dismiss-group', group, '--expected', '9000', '--as-of', as_of, '--reason', 'dealt with', ...here()];
    answers = [{ body: { dismissed: 5_000, left, next: id } }, { body: { dismissed: 3_990, left: { ...left, in_batch: 10 } } }];
    expect(await run(...words)).toBe(3);
    const body = { group: { key: group, as_of }, expected: 9_000, reason: 'dealt with' };
    expect(asked).toMatchObject([
      { method: 'POST', url: '/v1/dead-letters/dismiss', body },
      { method: 'POST', url: '/v1/dead-letters/dismiss', body: { ...body, after: id } },
    ]);
    expect(printed).toMatch(/dismissed +8990[\s\S]*approved batch +10/);
    answers = [{ body: { dismissed: 0, left } }];
    expect(await run(...words)).toBe(0);
  });

  it('prints of a group its schema, its last day and its runbook', async () => {
    const trend = [...Array.from({ length: 21 }, () => 0), 1, 8, 4];
    const one = { key: group, class: 'rejected', destination: 'crm', code: null, schema_id: 4, count: 13, trend };
    answers = [{ body: { as_of: '2026-06-01T12:00:00Z', items: [{ ...one, runbook: 'docs/runbooks/rejected.md' }] } }];
    expect(await run('queues', 'groups', ...here())).toBe(0);
    expect(printed).toMatch(/SCHEMA_ID +COUNT +LAST_24_HOURS/);
    expect(printed).toMatch(/ 4 +13 +·{21}▁█▄ .*docs\/runbooks\/rejected\.md/);
  });

  it('drafts a correction of what is piped in, and repeats nothing of it where it is no JSON', async () => {
    const piped = jest.spyOn(process.stdin, Symbol.asyncIterator);
    const type = (words: string) => piped.mockImplementation((() => [words][Symbol.iterator]()) as never);
    type('{"email": "mia@example.test"}');
    answers = [{ body: { fields: ['email'], operations: [] } }];
    expect(await run('corrections', 'draft', id, 'crm', '--reason', 'typo', ...here())).toBe(0);
    expect(asked).toMatchObject([
      { url: '/v1/corrections', body: { event_id: id, destination: 'crm', changes: { email: 'mia@example.test' }, reason: 'typo' } },
    ]);
    type('mia@example.test');
    expect(await run('corrections', 'draft', id, 'crm', '--reason', 'typo', ...here())).toBe(2);
    expect(said).not.toContain('mia');
  });

  it('says how to go on with repairs', async () => {
    answers = [{ body: { batch_id: id, hash: 'h', items: 2, discrepancies: 3, left_out: { no_repair: 1, settled: 0 } } }];
    expect(await run('reconcile', 'repair', '--class', 'missing', '--reason', 'lost there', ...here())).toBe(0);
    for (const words of [
      '2 deliveries, 3 discrepancies',
      `batches dry-run ${id}`,
      `batches approve ${id} --hash h`,
      `batches watch ${id}`,
      'no repair',
    ]) {
      expect(printed).toContain(words);
    }
    expect(printed).not.toContain('settled');
  });

  it('counts --last back from now', async () => {
    answers = [{ body: { run_id: id } }];
    const before = Date.now() - 7_200_000;
    await run('reconcile', 'run', 'crm', '--last', '2h', ...here());
    const { from } = (asked[0]?.body ?? {}) as { from: string };
    expect(Date.parse(from)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(from)).toBeLessThan(before + 60_000);
  });

  it.each<[string, string[], unknown, number]>([
    ['something differs', ['reconcile', 'diff'], { items: [{ state: 'open', fields: [] }] }, 3],
    ['all of it is settled', ['reconcile', 'diff', '--state', 'any'], { items: [{ state: 'repaired', fields: [] }] }, 0],
    ['a run found nothing', ['reconcile', 'watch', id], { items: [{ state: 'finished', counts: { compared: 9, unconfirmed: 1 } }] }, 0],
    ['a run found something', ['reconcile', 'watch', id], { items: [{ state: 'finished', counts: { compared: 9, missing: 1 } }] }, 3],
    ['a run failed', ['reconcile', 'watch', id], { items: [{ state: 'failed', counts: {} }] }, 3],
    ['a day is not balanced', ['reconcile', 'balance'], { items: [{ balanced: false, found: {} }] }, 3],
  ])('says by its exit code that %s', async (_, words, body, code) => {
    answers = [{ body }];
    expect(await run(...words, ...here())).toBe(code);
  });

  it('prints what changes as it changes, until the service ends it', async () => {
    answers = [{ body: ': here\n\nevent: changed\ndata: {"what":["batches","erasures"]}\n\n', type: 'text/event-stream' }];
    expect(await run('live', ...here())).toBe(0);
    expect(printed).toMatch(/^\d{4}-\S+Z {2}batches, erasures\n$/);
    answers = [{ status: 503, body: { title: 'too many' } }];
    expect(await run('live', ...here())).toBe(4);
  });

  it('prints the items of a batch as they come', async () => {
    answers = [{ body: 'event_id,outcome\n', type: 'text/csv' }];
    expect(await run('batches', 'export', id, ...here())).toBe(0);
    expect(printed).toBe('event_id,outcome\n');
    expect(asked).toMatchObject([{ method: 'GET', url: `/v1/batches/${id}/items.csv` }]);
  });

  it('prints a lead as a person reads it', async () => {
    const summary = {
      what_happened: 'It waits.',
      next: 'It is tried again',
      who: 'nobody has to',
      seen_by_customer: 'thanks',
      seen_by_sales: 'nothing',
    };
    const deliveries = [{ service: 'crm-writer', destination: 'crm', state: 'waiting', class: null, code: 'http_503' }];
    answers = [
      { body: { event_id: id, summary, deliveries, events: [{ at: '2026-06-01T12:00:00Z', title: 'Accepted', service: 'intake' }] } },
    ];
    expect(await run('lead', 'show', id, ...here())).toBe(0);
    for (const words of ['It waits.', 'It is tried again (nobody has to)', 'waiting http_503', '2026-06-01T12:00:00Z', 'Accepted']) {
      expect(printed).toContain(words);
    }
  });
});

describe('destinations', () => {
  it('are listed with what lies on the topic, an upper bound or the reason where that is all that is known', async () => {
    const backlog = { waiting: 1, held: 2 };
    const item = (destination: string, unclaimed?: object) => ({
      service: 's',
      destination,
      mode: 'blocked',
      backlog: { ...backlog, unclaimed },
    });
    const items = [
      item('crm', { count: 90 }),
      item('more', { count: 7, at_most: true }),
      item('away', { unknown: 'kafka_away' }),
      item('sales'),
    ];
    answers = [{ body: { items, unavailable: [] } }];
    expect(await run('destinations', 'list', '--as', 'viewer', ...here())).toBe(0);
    expect(printed).toMatch(/UNCLAIMED/);
    expect(printed).toMatch(/crm .* 1 +2 +90/);
    expect(printed).toMatch(/more .* 1 +2 +at most 7/);
    expect(printed).toMatch(/away .* 1 +2 +unknown \(kafka_away\)/);
    expect(printed).toMatch(/sales .* 1 +2$/m);
  });
});

describe('following', () => {
  const batch = (state: string, sent: number) => ({ batch_id: 'b', state, hash: 'h', author: 'olga', counts: { sent } });

  it('goes on until it is over, and the exit code says how it ended', async () => {
    answers = [{ body: batch('running', 1) }, { body: batch('stopped', 7) }];
    expect(await run('batches', 'watch', id, ...here())).toBe(3);
    expect(asked).toHaveLength(2);
    expect(printed).toContain('running');
    expect(printed).toContain('stopped');
  });

  it('prints one line of JSON for each look with --json, and an indented document where it looks once', async () => {
    const looks = [batch('running', 1), batch('finished', 7)];
    answers = looks.map((body) => ({ body }));
    expect(await run('--json', 'batches', 'watch', id, ...here())).toBe(0);
    expect(
      printed
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(looks);
    printed = '';
    answers = [{ body: batch('running', 1) }];
    expect(await run('--json', 'batches', 'show', id, '--as', 'viewer', ...here())).toBe(0);
    expect(printed.split('\n').length).toBeGreaterThan(3);
  });

  it.each(['failed', 'uncertain', 'not_applied'])('exits 3 where a batch finished with items that are %s', async (name) => {
    answers = [{ body: { ...batch('finished', 7), counts: { sent: 7, [name]: 2 } } }];
    expect(await run('batches', 'watch', id, ...here())).toBe(3);
    expect(printed).toContain('finished, 2 not delivered');
  });

  it('exits 0 where all of it was delivered', async () => {
    answers = [{ body: { ...batch('finished', 7), counts: { sent: 7, succeeded: 7, failed: 0 } } }];
    expect(await run('batches', 'watch', id, ...here())).toBe(0);
  });

  it('ends after one look without --watch', async () => {
    answers = [{ body: { places: [{ place: 'vault', before: 1, done: false }], tasks: [] } }];
    expect(await run('erasures', 'show', id, ...here())).toBe(3);
    expect(asked).toHaveLength(1);
  });
});

describe('the exit code', () => {
  const problem = { title: 'You may not do this', detail: 'This needs the permission configure' };
  it.each([
    [401, 5],
    [403, 5],
    [404, 5],
    [409, 5],
    [422, 2],
    [503, 4],
  ])('of an answer %d is %d, and what the service says is said', async (status, code) => {
    answers = [{ status, body: { ...problem, errors: [{ field: 'reason', problem: 'is empty', fix: 'Say why' }] } }];
    expect(await run('destinations', 'test', 'crm', ...here())).toBe(code);
    expect(said).toContain('This needs the permission configure');
    expect(said).toContain('reason is empty. Say why');
  });

  it('is 4 where nobody answers', async () => expect(await run('me', '--url', 'http://127.0.0.1:1', '--token', 'secret-token')).toBe(4));

  it('is 3 where an audit was changed', async () => {
    answers = [{ body: { ok: false } }];
    expect(await run('audit', 'verify', '--as', 'viewer', ...here())).toBe(3);
  });
});
