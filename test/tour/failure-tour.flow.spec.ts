import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cacheDir, projectRoot, readJsonFile, testSize, uniqueName } from '#testkit';
import { plantLead } from '../privacy/planted.js';
import { closeMs, type OpenStack, openStack } from '../support/stack.js';
import { ask } from './crm-witness.js';
import { leadBody } from './lead-body.js';
import { rowIds } from './row-ids.js';
import type { RowResult } from './run-tour.js';

/** The command as a buyer runs it. */
async function tour(...args: string[]): Promise<{ code: number; output: string; rows: RowResult[] }> {
  const json = cacheDir(`${uniqueName('tour')}.json`);
  const script = join(projectRoot(), 'dist', 'scripts', 'failure-tour.js');
  const { code, output } = await new Promise<{ code: number; output: string }>((resolve) => {
    execFile(process.execPath, [script, '--json', json, ...args], { timeout: 540_000, maxBuffer: 16_000_000 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: `${stdout}${stderr}` }),
    );
  });
  const rows = readJsonFile<RowResult[]>(json) ?? [];
  rmSync(json, { force: true });
  return { code, output, rows };
}

/** What a writer that only retries gets wrong, row by row; of these, in `npm test`, those that take no kill. */
const naiveFailures: Record<string, RowResult['actual']> = {
  duplicate: { outcome: '3 delivered', leads: 3, records: 3, messages: 3 },
  'concurrent-duplicates': { outcome: '50 delivered', leads: 50, records: 50, messages: 50 },
  conflict: { outcome: '2 delivered', leads: 2, records: 2, refused: 0 },
  invalid: { refused: 0, records: 1 },
  routing: { outcome: 'waiting', messages: 0 },
  'timeout-after-acceptance': { outcome: 'delivered', records: 2, requests: 2 },
  'late-response': { outcome: 'delivered', records: 2, requests: 2 },
  'dropped-connection': { outcome: '2 delivered', records: 3, requests: 4 },
  '5xx': { outcome: '4 delivered', records: 6, requests: 8 },
  '200-without-commit': { outcome: 'delivered', records: 0, requests: 1, compared: 'nothing' },
  'protected-field': { outcome: 'delivered', records: 1, requests: 1 },
  'unverified-write': { outcome: 'delivered', records: 2, requests: 2, dead_letter: 'none' },
  ...(testSize() === 'long' && { 'lease-expiry': { outcome: 'delivered', records: 2, requests: 2 } }),
};

/**
 * People of a tour's run as the scan looks for them: the first two of each row, and the one of each variant of a row. What all leads of the tour
 * say is with them.
 */
function plantPeople(run: string): void {
  const lead = (campaign: string, person: number) => leadBody({ sourceEventId: '', form: '', campaign, person });
  for (const row of rowIds) {
    for (const person of [0, 1]) plantLead(lead(`${run}-${row}`, person));
    for (let n = 0; n < 6; n += 1) plantLead(lead(`${run}-${row}-v${n}`, n));
  }
}

describe('the failure tour of an instance', () => {
  let open: OpenStack;
  beforeAll(async () => {
    open = await openStack();
  }, 180_000);
  /** Looks for personal data in all that the instance wrote meanwhile. */
  afterAll(async () => {
    await open?.close();
  }, closeMs);

  it('shows every row as expected on lead delivery, with the books balanced', async () => {
    const { code, output, rows } = await tour('--run-dir', open.stack.runDir);
    console.log(output);
    const run = /, run (\w+)$/m.exec(output)?.[1] ?? '';
    plantPeople(run);
    expect(JSON.stringify(await ask(`${open.endpoints().sandboxCrm}/data`))).toContain(`tilda.${run}-valid.0@example.test`);
    expect(rows.filter(({ ok }) => !ok)).toEqual([]);
    expect(rows.map(({ id }) => id)).toEqual([...rowIds]);
    expect(rows.filter(({ hits }) => hits === 0)).toEqual([]);
    expect(output).toContain('Balance: balanced');
    expect(code).toBe(0);
  }, 600_000);
});

describe('the failure tour', () => {
  it('turns rows red on a writer that retries until it succeeds, for what they are there to show', async () => {
    const chosen = ['valid', 'slow-response', ...Object.keys(naiveFailures)];
    const { code, output, rows } = await tour('--against', 'naive', ...(testSize() === 'long' ? [] : ['--rows', chosen.join(',')]));
    const actual = Object.fromEntries(rows.map((row) => [row.id, row.actual]));
    expect(actual).toMatchObject(naiveFailures);
    const red = rows.filter(({ ok }) => !ok).map(({ id }) => id);
    expect(red).toEqual(expect.arrayContaining(Object.keys(naiveFailures)));
    // What needs no more than retrying it can do as well: the rows do not turn red by themselves.
    expect(red).not.toEqual(expect.arrayContaining(['valid']));
    expect(red).not.toEqual(expect.arrayContaining(['slow-response']));
    expect(code).toBe(1);
    expect(output).toContain('RED');
  }, 600_000);

  if (testSize() === 'long') {
    it('starts an instance of its own where none is named', async () => {
      const { code, rows } = await tour('--rows', 'valid');
      expect({ code, ok: rows.map(({ ok }) => ok) }).toEqual({ code: 0, ok: [true] });
    }, 600_000);
  }

  it('says how it is used on a wrong command line, and starts nothing', async () => {
    const { code, output } = await tour('--rows', 'no-such-row');
    expect(code).toBe(2);
    expect(output).toContain('no such row: no-such-row');
    expect(output).toContain('--against naive');
  });

  it('says where no instance runs that it was sent to, and starts none', async () => {
    const { code, output, rows } = await tour('--run-dir', cacheDir(uniqueName('nobody')), '--rows', 'valid');
    expect(output).toContain('no instance runs in');
    expect([code, rows]).toEqual([1, []]);
  });
});
