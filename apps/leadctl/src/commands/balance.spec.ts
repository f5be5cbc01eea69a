import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import type { Balance, ReceivedDay } from '#delivery';
import { createLogger, type InternalServer, startInternalServer } from '#runtime';
import { createProgram } from '../program.js';

const token = 'reconciler-token-16chars';
const delivered = { destination: 'crm', state: 'delivered', as_of: '', operations: [], complete: true };
let printed: string;
let complained: string;
let runDir: string;
let servers: InternalServer[];
/** What the owner has, by event id. */
let owned: string[];
/** Of one source. */
let day: ReceivedDay;

beforeEach(async () => {
  [printed, complained, servers, owned] = ['', '', [], ['e-1', 'e-2']];
  const counts = { received: 9, accepted: 2, repeats: 4, conflicts: 1, rejected: 2, leads: 2 };
  day = { organization: 'demo', source: 'website', day: '2026-06-01', ...counts };
  const catching = (add: (text: string) => void) => (text: unknown) => {
    add(String(text));
    return true;
  };
  jest.spyOn(process.stdout, 'write').mockImplementation(catching((text) => (printed += text)) as never);
  jest.spyOn(process.stderr, 'write').mockImplementation(catching((text) => (complained += text)) as never);
  const urls = { intake: await intake(), 'crm-writer': await crmWriter() };
  runDir = mkdtempSync(path.join(tmpdir(), 'run-'));
  mkdirSync(path.join(runDir, 'secrets'));
  writeFileSync(path.join(runDir, 'endpoints.json'), JSON.stringify({ internal: urls }));
  writeFileSync(path.join(runDir, 'secrets', 'internal-tokens.json'), JSON.stringify({ reconciler: token }));
});
afterEach(async () => {
  jest.restoreAllMocks();
  for (const server of servers) await server.stop();
  rmSync(runDir, { recursive: true });
});

async function serve(routes: Record<string, (body: { items: { event_id: string }[]; from?: string }) => unknown>): Promise<string> {
  const logger = createLogger('leadctl', 'silent');
  const server = await startInternalServer({ host: '127.0.0.1', port: 0, tokens: { reconciler: token }, readiness: [], logger });
  servers.push(server);
  for (const [route, answer] of Object.entries(routes)) {
    server.route(`/internal/v1/${route}`, { callers: ['reconciler'], body: z.any() }, async (body) => answer(body));
  }
  return `http://127.0.0.1:${server.port}`;
}
const intake = () =>
  serve({
    'deliveries:accepted': () => ({
      to: '2026-06-01T12:00:00.000Z',
      items: ['e-1', 'e-2'].map((event_id) => ({ event_id, destination: 'crm', state: 'accepted', own: false })),
    }),
    'received:days': ({ from }) => ({ items: [day].filter((one) => one.day === from) }),
    'deliveries:unclaimed': ({ items }) => ({ items: items.map((item) => ({ ...item, place: 'overdue' })) }),
  });
const crmWriter = () =>
  serve({
    'deliveries:state': ({ items }) => ({
      items: items.map(({ event_id }) => ({ event_id, deliveries: owned.includes(event_id) ? [delivered] : [] })),
    }),
    'destinations:state': () => ({ items: [] }),
  });

async function run(words: string[], env: NodeJS.ProcessEnv = {}): Promise<number> {
  let code = -1;
  await createProgram((ended) => {
    code = ended;
  }, env).parseAsync(['node', 'leadctl', ...words]);
  return code;
}

describe('leadctl balance', () => {
  it('prints one JSON document and nothing else, and ends with 0 where all is found', async () => {
    expect(await run(['balance', '--json', '--run-dir', runDir])).toBe(0);
    expect(JSON.parse(printed)).toEqual({
      balanced: true,
      at: '2026-06-01T12:00:00.000Z',
      accepted: 2,
      found: { delivered: 2 },
      outbox: 0,
      parked: 0,
      unclaimed_young: 0,
      unclaimed_held: 0,
      missing: [],
      incomplete: [],
      received: { received: 9, accepted: 2, repeats: 4, conflicts: 1, rejected: 2, differences: [] },
    } satisfies Balance);
    // Node's own warning about the test runner may come here too.
    expect(complained).not.toContain('leadctl');
  });

  it('names every missing delivery and ends with 1', async () => {
    owned = ['e-1'];
    expect(await run(['balance', '--run-dir', path.basename(runDir)], { INIT_CWD: path.dirname(runDir) })).toBe(1);
    expect(printed).toMatch(/^accepted +2$/m);
    expect(printed).toMatch(/^MISSING e-2 crm /m);
  });

  it('prints what was received, and ends with 1 where it does not add up', async () => {
    expect(await run(['balance', '--run-dir', runDir])).toBe(0);
    for (const line of [/^received +9$/m, /^ +repeats +4$/m, /^ +conflicts +1$/m, /^ +rejected +2$/m]) expect(printed).toMatch(line);
    day = { ...day, leads: 1 };
    expect(await run(['balance', '--run-dir', runDir])).toBe(1);
    expect(printed).toMatch(/^DIFFERENT 2026-06-01 demo website: 9 received, 2 accepted .*, 1 leads /m);
  });

  it('finds an installation in the environment', async () => {
    const INTERNAL_URLS = JSON.stringify({
      intake: `http://127.0.0.1:${servers[0]?.port}`,
      'crm-writer': `http://127.0.0.1:${servers[1]?.port}`,
    });
    expect(await run(['balance'], { INTERNAL_URLS, LD_SECRETS_DIR: path.join(runDir, 'secrets') })).toBe(0);
  });

  it('ends with 2 and prints no balance where a service is away, or there is no installation', async () => {
    await servers[1]?.stop();
    expect(await run(['balance', '--json', '--run-dir', runDir])).toBe(2);
    expect(await run(['balance', '--json', '--run-dir', path.join(runDir, 'nothing')])).toBe(2);
    expect(printed).toBe('');
    expect(complained).toContain('endpoints.json');
  });
});
