import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CommanderError } from 'commander';
import { exitCodeOf } from './exit-codes.js';
import { createProgram } from './program.js';

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
  let code = 0;
  const program = createProgram((ended) => {
    code = ended;
  }, {});
  for (const command of [program, ...program.commands, ...program.commands.flatMap(({ commands }) => commands)]) {
    command.configureOutput({ writeErr: () => undefined });
  }
  try {
    await program.parseAsync(['node', 'leadctl', ...words]);
    return code;
  } catch (error) {
    said = (error as Error).message;
    return error instanceof CommanderError ? 2 : exitCodeOf(error);
  }
}
const here = (): string[] => ['--run-dir', runDir];

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
  const id = '0197a2f0-0000-7000-8000-000000000001';
  it.each([
    [['search', id], { method: 'POST', url: '/v1/search', body: { text: id, kind: 'auto' } }, { items: [] }],
    [['queues', 'list', '--tab', 'held', '--destination', 'crm'], { url: '/v1/dead-letters?destination=crm&tab=held' }, { items: [] }],
    [['dead-letters', 'list', '--as', 'viewer'], { url: '/v1/dead-letters?state=open' }, { items: [] }],
    [['queues', 'groups', '--class', 'auth'], { url: '/v1/dead-letters/groups?class=auth' }, { items: [] }],
    [
      ['queues', 'assign', '--id', id, '--to', 'olga', '--reason', 'her shift'],
      { url: '/v1/dead-letters/assign', body: { ids: [id], assignee: 'olga', reason: 'her shift' } },
      { letters: 1 },
    ],
    [
      ['queues', 'note', 'their ticket 42', '--group', 'g', '--as-of', '2026-06-01T12:00:00Z'],
      { url: '/v1/dead-letters/note', body: { group: { key: 'g', as_of: '2026-06-01T12:00:00Z' }, text: 'their ticket 42' } },
      { letters: 3 },
    ],
    [
      ['queues', 'disposition', 'fix_data', '--id', id, '--reason', 'typo'],
      { url: '/v1/dead-letters/disposition', body: { ids: [id], disposition: 'fix_data', reason: 'typo' } },
      {},
    ],
    [
      ['batches', 'draft', '--destination', 'crm', '--rate', '200', '--reason', 'they are back'],
      { url: '/v1/batches', body: { filter: { destination: 'crm' }, rate_per_s: 200, reason: 'they are back' } },
      { batch_id: id, items: 3 },
    ],
    [['batches', 'dry-run', id], { method: 'POST', url: `/v1/batches/${id}/dry-run` }, {}],
    [['batches', 'approve', id, '--hash', 'h'], { url: `/v1/batches/${id}/approve`, body: { hash: 'h' } }, {}],
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
    [['corrections', 'show', id], { method: 'GET', url: `/v1/corrections/${id}` }, { state: 'failed', fields: [], operations: [] }],
    [
      ['corrections', 'approve', id, '--hash', 'h'],
      { method: 'POST', url: `/v1/corrections/${id}/approve`, body: { hash: 'h' } },
      { fields: [], operations: [] },
    ],
    [['destinations', 'list', '--as', 'viewer'], { method: 'GET', url: '/v1/destinations' }, { items: [], unavailable: [] }],
    [
      ['destinations', 'hold', 'crm', '--reason', 'their change', '--as', 'operator'],
      { url: '/v1/destinations/crm/hold', body: { reason: 'their change', service: 'crm-writer' } },
      {},
    ],
    [['destinations', 'release', 'crm', '--reason', 'done', '--as', 'operator'], { url: '/v1/destinations/crm/release' }, {}],
    [['destinations', 'test', 'a/b'], { method: 'POST', url: '/v1/destinations/a%2Fb/test' }, { event_id: id }],
    [
      ['erasures', 'request', '--event-id', id, '--reason', 'request 17'],
      { url: '/v1/erasures', body: { event_id: id, reason: 'request 17' } },
      { places: [], tasks: [] },
    ],
    [['erase', 'approve', id, '--hash', 'h'], { url: `/v1/erasures/${id}/approve`, body: { hash: 'h' } }, { places: [], tasks: [] }],
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
    ['queues', 'disposition', 'fix_data'],
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
    expect(await run('queues', 'disposition', 'discard', '--group', 'g', '--reason', 'old', ...here())).toBe(0);
    expect(asked).toMatchObject([
      { url: '/v1/dead-letters/groups?group=g' },
      { body: { group: { key: 'g', as_of }, disposition: 'discard' } },
    ]);
    expect(said.join('')).toContain(`7 of auth crm, as of ${as_of}`);
    expect(printed).toMatch(/done\s+7/);
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

describe('following', () => {
  const batch = (state: string, sent: number) => ({ batch_id: 'b', state, hash: 'h', author: 'olga', counts: { sent } });

  it('goes on until it is over, and the exit code says how it ended', async () => {
    answers = [{ body: batch('running', 1) }, { body: batch('stopped', 7) }];
    expect(await run('batches', 'watch', 'b', ...here())).toBe(3);
    expect(asked).toHaveLength(2);
    expect(printed).toContain('running');
    expect(printed).toContain('stopped');
  });

  it.each(['failed', 'uncertain', 'not_applied'])('exits 3 where a batch finished with items that are %s', async (name) => {
    answers = [{ body: { ...batch('finished', 7), counts: { sent: 7, [name]: 2 } } }];
    expect(await run('batches', 'watch', 'b', ...here())).toBe(3);
    expect(printed).toContain('finished, 2 not delivered');
  });

  it('exits 0 where all of it was delivered', async () => {
    answers = [{ body: { ...batch('finished', 7), counts: { sent: 7, succeeded: 7, failed: 0 } } }];
    expect(await run('batches', 'watch', 'b', ...here())).toBe(0);
  });

  it('ends after one look without --watch', async () => {
    answers = [{ body: { places: [{ place: 'vault', before: 1, done: false }], tasks: [] } }];
    expect(await run('erasures', 'show', 'e', ...here())).toBe(3);
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
