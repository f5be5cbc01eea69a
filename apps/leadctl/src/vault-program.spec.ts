import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { createLogger, type InternalServer, startInternalServer } from '#runtime';
import { exitCodeOf } from './exit-codes.js';
import { createProgram } from './program.js';

const token = 'leadctl-token-16-chars';
let runDir: string;
let server: InternalServer;
let out: string;
let err: string;
/** What intake was asked, and what it answers in turn. */
let asked: unknown[];
let pages: object[];

beforeEach(async () => {
  [out, err, asked] = ['', '', []];
  const into = (keep: (text: string) => void) => (text: unknown) => {
    keep(String(text));
    return true;
  };
  jest.spyOn(process.stdout, 'write').mockImplementation(
    into((text) => {
      out += text;
    }) as never,
  );
  jest.spyOn(process.stderr, 'write').mockImplementation(
    into((text) => {
      err += text;
    }) as never,
  );
  const logger = createLogger('leadctl', 'silent');
  server = await startInternalServer({ host: '127.0.0.1', port: 0, tokens: { leadctl: token }, readiness: [], logger });
  server.route('/internal/v1/vault:rewrap', { callers: ['leadctl'], body: z.any() }, async (body) => {
    asked.push(body);
    return pages[asked.length - 1];
  });
  runDir = mkdtempSync(path.join(tmpdir(), 'run-'));
  mkdirSync(path.join(runDir, 'secrets'));
  writeFileSync(path.join(runDir, 'endpoints.json'), JSON.stringify({ internal: { intake: `http://127.0.0.1:${server.port}` } }));
  writeFileSync(path.join(runDir, 'secrets', 'internal-tokens.json'), JSON.stringify({ leadctl: token }));
});
afterEach(async () => {
  jest.restoreAllMocks();
  await server.stop();
  rmSync(runDir, { recursive: true });
});

async function rewrap(): Promise<number> {
  let code = 0;
  const program = createProgram((ended) => {
    code = ended;
  }, {});
  try {
    await program.parseAsync(['node', 'leadctl', '--json', 'vault', 'rewrap', '--run-dir', runDir]);
    return code;
  } catch (error) {
    return exitCodeOf(error);
  }
}
const page = (next: string | null, more: object = {}) => ({ key: 'k2', looked: 200, rewrapped: 150, unreadable: {}, next, ...more });

it('asks page after page of each table, says how far it is, and ends with the counts', async () => {
  pages = [page(null, { looked: 2, rewrapped: 2 }), page('L-1 1'), page(null, { looked: 20, rewrapped: 0 }), page(null)];
  expect(await rewrap()).toBe(0);
  expect(asked).toEqual([
    { table: 'pending_revision', after: null },
    { table: 'vault', after: null },
    { table: 'vault', after: 'L-1 1' },
    { table: 'rejected', after: null },
  ]);
  expect(JSON.parse(out)).toEqual({
    key: 'k2',
    tables: {
      pending_revision: { looked: 2, rewrapped: 2, unreadable: 0 },
      vault: { looked: 220, rewrapped: 150, unreadable: 0 },
      rejected: { looked: 200, rewrapped: 150, unreadable: 0 },
    },
    still_needed: [],
  });
  expect(err).toContain('vault: 220 looked at, 150 re-wrapped\nrejected: 200 looked at, 150 re-wrapped\n');
});

it('ends with 3 and names the keys that rows still need which could not be opened', async () => {
  pages = [page(null), page(null, { unreadable: { k0: 2 } }), page(null, { unreadable: { k1: 1 } })];
  expect(await rewrap()).toBe(3);
  expect(JSON.parse(out)).toMatchObject({ still_needed: ['k0', 'k1'], tables: { vault: { unreadable: 2 } } });
});

it('ends with 4 when intake cannot be asked, so that it is begun again later', async () => {
  await server.stop();
  expect(await rewrap()).toBe(4);
  expect(out).toBe('');
});
