import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { identify, isRunning } from './identity.js';

describe('identity of a process', () => {
  it('is that of a running process, and of none once it ended', async () => {
    const child = spawn('sleep', ['60']);
    await once(child, 'spawn');
    const identity = identify(child.pid ?? -1);
    expect(identity?.pid).toBe(child.pid);
    expect(identity !== undefined && isRunning(identity)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(identity !== undefined && isRunning(identity)).toBe(false);
  });

  it('tells another process with the same pid apart by when it started', () => {
    const self = identify(process.pid);
    expect(self).toBeDefined();
    expect(isRunning({ pid: process.pid, startMark: `${self?.startMark}0` })).toBe(false);
  });
});
