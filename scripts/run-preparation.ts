import { spawn } from 'node:child_process';
import type { Prepared } from './test-stages.js';

export interface Preparation {
  command: string;
  args: readonly string[];
  cwd: string;
  limitMs: number;
  /** Gets each line that it prints. */
  print: (line: string) => void;
}

export interface RunningPreparation {
  pid: number | undefined;
  /** Never rejects, and is never later than the limit: what hangs is killed with all of its group, and counts as failed. */
  ended: Promise<Prepared>;
}

/** Starts a preparation as a group of its own. */
export function runPreparation({ command, args, cwd, limitMs, print }: Preparation): RunningPreparation {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let said = '';
  const hear = (text: Buffer): void => {
    for (const line of text.toString().split('\n')) {
      if (line.trim() === '') continue;
      said = line;
      print(line);
    }
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  const ended = new Promise<Prepared>((resolve) => {
    const limit = setTimeout(() => {
      killGroup(child.pid);
      // Somebody who left the group may hold them for ever.
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ exitCode: 1, said: `took longer than ${limitMs / 60_000} min` });
    }, limitMs);
    const end = (prepared: Prepared): void => {
      clearTimeout(limit);
      resolve(prepared);
    };
    child.once('error', ({ message }) => end({ exitCode: 1, said: message }));
    child.once('close', (exitCode) => end({ exitCode, said }));
  });
  return { pid: child.pid, ended };
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
