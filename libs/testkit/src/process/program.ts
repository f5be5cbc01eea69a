import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { identify, isRunning, type ProcessIdentity } from './identity.js';
import { pause } from './wait.js';

/** How one long-running child is started, recognised as ready, and stopped. */
export interface Program {
  name: string;
  command: string;
  args: string[];
  /** The whole environment: nothing is inherited that is not listed here. */
  env: Record<string, string>;
  cwd?: string;
  /** Another user to run as (PostgreSQL refuses root). */
  user?: { uid: number; gid: number };
  /** Standard output and error are appended here. */
  logFile: string;
  /** Asks the child for an orderly end. */
  stopSignal: NodeJS.Signals;
  /** How long the orderly end may take before SIGKILL, in ms. */
  stopGraceMs: number;
  /** True once the child does its work. Called until then; may throw. */
  ready(): Promise<boolean>;
}

export interface RunningProgram {
  child: ChildProcess;
  identity: ProcessIdentity;
}

/**
 * Starts a program in a session of its own: a Ctrl-C in the terminal reaches only the launcher, which then stops its children in order,
 * and a launcher that is killed does not take the logs' file handles with it. Throws when the command cannot be run.
 */
export async function startProgram(program: Program): Promise<RunningProgram> {
  mkdirSync(dirname(program.logFile), { recursive: true });
  const log = openSync(program.logFile, 'a');
  try {
    const child = spawn(program.command, program.args, {
      detached: true,
      stdio: ['ignore', log, log],
      env: program.env,
      ...(program.cwd === undefined ? {} : { cwd: program.cwd }),
      ...program.user,
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    const identity = child.pid === undefined ? undefined : identify(child.pid);
    // Gone before its start time could be read: a mark that no process has says the same.
    return { child, identity: identity ?? { pid: child.pid ?? -1, startMark: 'ended' } };
  } finally {
    closeSync(log);
  }
}

/** Asks one process (never another one that got its pid) to end, waits, then kills it with its process group. */
export async function stopProcess(identity: ProcessIdentity, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  if (!isRunning(identity)) return;
  sendSignal(identity.pid, signal);
  const killAt = performance.now() + graceMs;
  while (isRunning(identity)) {
    if (performance.now() > killAt) sendSignal(-identity.pid, 'SIGKILL');
    await pause(25);
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
