import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { identify, isRunning, type ProcessIdentity, type RunState, runPaths, writeJsonFile } from '#testkit';
import { claimRunDir, releaseRunDir, runningLauncher } from './run-dir.js';
import { stopInstance } from './stop-instance.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'run-dir-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function sleeper(): Promise<ProcessIdentity> {
  const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
  await once(child, 'spawn');
  const identity = identify(child.pid ?? -1);
  if (identity === undefined) throw new Error('sleep did not start');
  return identity;
}

const state = (...identities: ProcessIdentity[]): RunState => ({
  portBase: 7300,
  children: identities.map((identity, at) => ({ name: `child-${at}`, identity, stopSignal: 'SIGTERM', stopGraceMs: 1_000 })),
});

describe('a run directory', () => {
  it('belongs to one launcher at a time', async () => {
    await claimRunDir(dir);
    expect(runningLauncher(dir)?.pid).toBe(process.pid);
    await expect(claimRunDir(dir)).rejects.toThrow(/already runs/);
    releaseRunDir(dir);
    expect(runningLauncher(dir)).toBeUndefined();
  });

  it('is taken over from a launcher that was killed, whose children are stopped first', async () => {
    const left = await sleeper();
    writeJsonFile(runPaths(dir).lock, { pid: process.pid, startMark: 'of an earlier process' });
    writeJsonFile(runPaths(dir).state, state(left));
    writeJsonFile(runPaths(dir).endpoints, {});
    await claimRunDir(dir);
    expect(isRunning(left)).toBe(false);
    expect(runningLauncher(dir)?.pid).toBe(process.pid);
    expect(existsSync(runPaths(dir).endpoints)).toBe(false);
  });

  it('says nothing of a running instance any more once the one whose launcher was killed is stopped', async () => {
    const left = await sleeper();
    writeJsonFile(runPaths(dir).lock, { pid: process.pid, startMark: 'of an earlier process' });
    writeJsonFile(runPaths(dir).state, state(left));
    writeJsonFile(runPaths(dir).endpoints, {});
    expect(await stopInstance(dir, { root: dir, forget: false })).toBe(true);
    expect(isRunning(left)).toBe(false);
    expect(existsSync(runPaths(dir).endpoints)).toBe(false);
  });

  it('never stops a process that merely got the pid of a recorded child', async () => {
    const stranger = await sleeper();
    writeJsonFile(runPaths(dir).state, state({ ...stranger, startMark: 'of an earlier process' }));
    await claimRunDir(dir);
    expect(isRunning(stranger)).toBe(true);
    process.kill(stranger.pid, 'SIGKILL');
  });
});
