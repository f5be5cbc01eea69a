import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CommanderError } from 'commander';
import { z } from 'zod';
import { ConfigError, createLogger, type InternalServer, startInternalServer } from '#runtime';
import { exitCodeOf } from './exit-codes.js';
import { createProgram } from './program.js';

const token = 'leadctl-token-16-chars';
let printed: string;
let runDir: string;
let server: InternalServer;
/** What the operator service was asked, and what it answers. */
let asked: [command: string, body: unknown][];
let answers: Record<string, unknown>;

beforeEach(async () => {
  [printed, asked, answers] = ['', [], {}];
  const write = (text: unknown) => {
    printed += String(text);
    return true;
  };
  jest.spyOn(process.stdout, 'write').mockImplementation(write as never);
  jest.spyOn(process.stderr, 'write').mockImplementation(write as never);
  const logger = createLogger('leadctl', 'silent');
  server = await startInternalServer({ host: '127.0.0.1', port: 0, tokens: { leadctl: token }, readiness: [], logger });
  for (const command of [
    'dead-letters:list',
    'dead-letters:show',
    'dead-letters:dismiss',
    'items:approve',
    'batches:show',
    'batches:stop',
    'commands:send',
    'destinations:state',
  ]) {
    server.route(`/internal/v1/${command}`, { callers: ['leadctl'], body: z.any() }, async (body) => {
      asked.push([command, body]);
      return answers[command];
    });
  }
  runDir = mkdtempSync(path.join(tmpdir(), 'run-'));
  mkdirSync(path.join(runDir, 'secrets'));
  writeFileSync(path.join(runDir, 'endpoints.json'), JSON.stringify({ internal: { operator: `http://127.0.0.1:${server.port}` } }));
  writeFileSync(path.join(runDir, 'secrets', 'internal-tokens.json'), JSON.stringify({ leadctl: token }));
});
afterEach(async () => {
  jest.restoreAllMocks();
  await server.stop();
  rmSync(runDir, { recursive: true });
});

async function run(...words: string[]): Promise<number> {
  let code = 0;
  const program = createProgram((ended) => {
    code = ended;
  }, {});
  try {
    await program.parseAsync(['node', 'leadctl', ...words]);
    return code;
  } catch (error) {
    return error instanceof CommanderError ? 2 : exitCodeOf(error);
  }
}

const letter = {
  dead_letter_id: 'd-1',
  event_id: 'e-1',
  destination: 'crm',
  lead_ref: 'L-1',
  class: 'auth',
  code: 'http_403',
  attempts: 1,
  submitted_at: '2026-06-01T12:00:00.000Z',
  respond_by: '2026-06-01T12:30:00.000Z',
  owner: 'integration',
  disposition: 'approve_replay',
  reference: null,
  state: 'open',
  closed_as: null,
  next_action: 'Correct the permission.',
  runbook: 'docs/runbooks/auth.md',
};
const approve = ['items', 'approve', '--destination', 'crm', '--class', 'auth', '--deadline', '4h', '--approver', 'ada'];

describe('leadctl dead-letters', () => {
  it('lists what waits for a decision', async () => {
    answers['dead-letters:list'] = { items: [letter] };
    expect(await run('dead-letters', 'list', '--class', 'auth', '--run-dir', runDir)).toBe(0);
    expect(asked).toEqual([['dead-letters:list', { class: 'auth', state: 'open', limit: 50 }]]);
    expect(printed).toMatch(/ID +EVENT_ID +DESTINATION[\s\S]*d-1 +e-1 +crm +L-1 +auth +http_403/);
    expect(printed).not.toContain('more:');
    answers['dead-letters:list'] = { items: [letter], next: 'the-next' };
    await run('dead-letters', 'list', '--run-dir', runDir);
    expect(printed.trimEnd().split('\n').at(-1)).toMatch(/^more: --after the-next/);
    answers['dead-letters:list'] = { items: [] };
    await run('dead-letters', 'list', '--run-dir', runDir);
    expect(printed).toContain('no dead letters');
  });

  it('shows the course of one lead and what to do about it', async () => {
    const call = { started_at: '2026-06-01T12:00:01.000Z', operation_key: 'e-1:crm:lead', number: 1, outcome: 'auth', status: 403 };
    answers['dead-letters:show'] = {
      items: [
        { ...letter, operations: [{ kind: 'lead', state: 'dead', attempts: 1 }], history: [{ ...call, provider_request_id: 'req-1' }] },
      ],
    };
    expect(await run('dead-letters', 'show', 'e-1', '--run-dir', runDir)).toBe(0);
    expect(printed).toContain('Correct the permission. docs/runbooks/auth.md');
    expect(printed).toMatch(/12:00:01\.000Z +lead #1 +auth 403 req-1/);
    answers['dead-letters:show'] = { items: [] };
    expect(await run('dead-letters', 'show', 'e-2', '--run-dir', runDir)).toBe(3);
  });
});

describe('leadctl dead-letters dismiss', () => {
  it('ends with 3 where the delivery decides', async () => {
    const dismiss = ['dead-letters', 'dismiss', 'd-1', '--by', 'ada', '--reason', 'handed over', '--run-dir', runDir];
    answers['dead-letters:dismiss'] = { dismissed: true, outcome: 'row_gone' };
    expect(await run(...dismiss)).toBe(0);
    expect(printed).toContain('closed: the service has no row of its delivery any more');
    answers['dead-letters:dismiss'] = { dismissed: false, outcome: 'delivery_decides' };
    expect(await run(...dismiss)).toBe(3);
    expect(printed).toContain('nothing was changed: it closes by what becomes of its delivery');
    expect(asked[0]).toEqual(['dead-letters:dismiss', { dead_letter_id: 'd-1', by: 'ada', reason: 'handed over' }]);
  });
});

describe('leadctl items approve', () => {
  it('approves a selection and prints the batch', async () => {
    const items = [{ event_id: 'e-1', destination: 'crm', verdict: 'approved' }];
    answers['items:approve'] = { batch_id: 'b-1', approved: 1, deadline_at: '2026-06-01T16:00:00.000Z', items };
    expect(await run(...approve, '--max', '10', '--run-dir', runDir)).toBe(0);
    expect(asked).toEqual([
      ['items:approve', { approver: 'ada', new_deadline: '4h', max: 10, select: { destination: 'crm', class: 'auth' } }],
    ]);
    expect(printed).toMatch(/batch b-1 +1 approved[\s\S]*e-1 crm +approved/);
  });

  it('ends with 3 where nothing could be approved', async () => {
    const reason = 'destination crm is not in the site file any more';
    answers['items:approve'] = { approved: 0, items: [{ event_id: 'e-1', destination: 'crm', verdict: 'not_replayable', reason }] };
    expect(await run(...approve, '--run-dir', runDir)).toBe(3);
    expect(printed).toContain(`not_replayable: ${reason}`);
    answers['items:approve'] = { approved: 0, items: [] };
    expect(await run(...approve, '--run-dir', runDir)).toBe(3);
    expect(printed).toContain('no open dead letter fits');
  });

  it.each([[['--max', '51']], [['--deadline', 'soon']], [['--class', 'nonsense']]])('ends with 2, asking nobody, for %j', async (more) => {
    expect(await run(...approve, ...more, '--run-dir', runDir)).toBe(2);
    expect(asked).toEqual([]);
  });

  it('ends with 4 while the operator service does not answer', async () => {
    await server.stop();
    expect(await run(...approve, '--run-dir', runDir)).toBe(4);
  });
});

describe('leadctl batches', () => {
  it('shows a batch and stops it', async () => {
    const items = [{ event_id: 'e-1', destination: 'crm', state: 'succeeded' }];
    answers['batches:show'] = {
      batch: { batch_id: 'b-1', state: 'finished', approver: 'ada', approved_at: 'then', deadline_at: '', items },
    };
    expect(await run('batches', 'show', 'b-1', '--run-dir', runDir)).toBe(0);
    expect(printed).toMatch(/batch b-1 +finished, approved by ada at then\ne-1 crm +succeeded/);
    answers['batches:stop'] = { stopped: false };
    expect(await run('batches', 'stop', 'b-1', '--by', 'ada', '--run-dir', runDir)).toBe(3);
    answers['batches:show'] = { batch: null };
    expect(await run('batches', 'show', 'b-2', '--run-dir', runDir)).toBe(3);
  });
});

describe('leadctl destinations and deliveries', () => {
  const by = ['--by', 'ada', '--reason', 'maintenance'];

  it('says which destinations are sent to', async () => {
    const hold = { by: 'ada', reason: 'maintenance', at: '2026-06-01T12:00:00.000Z' };
    answers['destinations:state'] = { items: [{ destination: 'crm', mode: 'blocked', reason: 'hold', hold }] };
    expect(await run('destinations', 'list', '--run-dir', runDir)).toBe(0);
    expect(printed).toMatch(/crm +blocked +held by ada: maintenance/);
  });

  it('sends a person’s commands with who and why', async () => {
    answers['commands:send'] = { applied: true, state: 'delivered' };
    expect(await run('destinations', 'hold', 'crm', ...by, '--run-dir', runDir)).toBe(0);
    expect(await run('deliveries', 'discard', 'e-1', 'crm', ...by, '--evidence', 'case 7', '--run-dir', runDir)).toBe(0);
    const found = ['--operation-key', 'e-1:crm:lead', '--found', 'C-1'];
    expect(await run('deliveries', 'evidence', 'e-1', 'crm', ...by, ...found, '--run-dir', runDir)).toBe(0);
    const common = { by: 'ada', reason: 'maintenance' };
    expect(asked.map(([, body]) => body)).toEqual([
      { service: 'crm-writer', command: { command: 'hold', destination: 'crm', ...common } },
      { service: 'crm-writer', command: { command: 'discard', event_id: 'e-1', destination: 'crm', evidence: 'case 7', ...common } },
      {
        service: 'crm-writer',
        command: {
          command: 'evidence',
          event_id: 'e-1',
          destination: 'crm',
          operation_key: 'e-1:crm:lead',
          finding: { kind: 'found', ref: 'C-1' },
          ...common,
        },
      },
    ]);
  });

  it.each([
    ['--reason', ['destinations', 'hold', 'crm']],
    ['--reason', ['deliveries', 'discard', 'e-1', 'crm']],
    ['--reason', ['dead-letters', 'dismiss', 'd-1']],
    ['--reason', approve],
    ['--evidence', ['deliveries', 'discard', 'e-1', 'crm', '--reason', 'twice']],
  ])('ends with 2, asking nobody and repeating nothing, for a %s with an e-mail address in %j', async (option, words) => {
    const error = await createProgram(() => {}, {})
      .parseAsync(['node', 'leadctl', ...words, '--by', 'ada', option, 'told eve@example.test', '--run-dir', runDir])
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    expect(exitCodeOf(error)).toBe(2);
    expect(String((error as Error).message)).toContain(option);
    expect(`${printed}${String((error as Error).message)}`).not.toContain('eve@');
    expect(asked).toEqual([]);
  });

  it('ends with 2 for a reason that is longer than the command may have', async () => {
    answers['commands:send'] = { applied: true };
    const hold = (length: number) => run('destinations', 'hold', 'crm', '--by', 'ada', '--reason', 'x'.repeat(length), '--run-dir', runDir);
    expect([await hold(200), await hold(201)]).toEqual([0, 2]);
  });

  it('ends with 3 where the command did not fit, and with 2 where it says nothing or two things', async () => {
    answers['commands:send'] = { applied: false, reason: 'not_in_this_state' };
    expect(await run('deliveries', 'discard', 'e-1', 'crm', ...by, '--run-dir', runDir)).toBe(3);
    expect(printed).toContain('nothing was changed: not_in_this_state');
    for (const word of ['hold', 'release']) {
      printed = '';
      answers['commands:send'] = { applied: false, reason: 'unknown_destination' };
      expect(await run('destinations', word, 'crn', ...by, '--run-dir', runDir)).toBe(3);
      expect(printed).toContain(
        'nothing was changed: unknown_destination (the site file of crm-writer has no such destination or channel)',
      );
    }
    const evidence = ['deliveries', 'evidence', 'e-1', 'crm', ...by, '--operation-key', 'k', '--run-dir', runDir];
    expect(await run(...evidence)).toBe(2);
    expect(await run(...evidence, '--absent', '--found', 'C-1')).toBe(2);
    expect(await run('destinations', 'hold', 'crm', '--run-dir', runDir)).toBe(2);
    expect(asked).toHaveLength(3);
  });
});
