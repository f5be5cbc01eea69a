import { describe, expect, it } from '@jest/globals';
import { type Preparation, runPreparation } from './run-preparation.js';

const lines: string[] = [];
const prepared = (program: string, more: Partial<Preparation> = {}) =>
  runPreparation({
    command: process.execPath,
    args: ['-e', program],
    cwd: process.cwd(),
    limitMs: 20_000,
    print: (line) => lines.push(line),
    ...more,
  });

describe('a preparation', () => {
  it('ends with its exit code and the last line that it printed', async () => {
    const { ended } = prepared('console.log("one\\n\\ntwo"); process.exitCode = 3');
    expect(await ended).toEqual({ exitCode: 3, said: 'two' });
    expect(lines).toEqual(['one', 'two']);
    expect(await prepared('', { command: '/no/such/program' }).ended).toMatchObject({ exitCode: 1 });
  });

  it('that hangs is killed with what it started, and has failed', async () => {
    // The inner one does not end with the outer one, and holds its output.
    const inner = 'setInterval(() => {}, 1000)';
    const { pid, ended } = prepared(
      `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(inner)}], { stdio: 'inherit' }); setInterval(() => {}, 1000)`,
      { limitMs: 600 },
    );
    expect(await ended).toEqual({ exitCode: 1, said: 'took longer than 0.01 min' });
    await expect(groupIsGone(pid ?? 0)).resolves.toBe(true);
  });
});

async function groupIsGone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 100; tries += 1) {
    try {
      process.kill(-pid, 0);
    } catch {
      return true;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}
