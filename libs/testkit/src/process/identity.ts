import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * A process that can be found again: its pid, and when it began. Pids are given out again, so a pid alone may by now be somebody else's
 * process; the pair is unique until the machine restarts, and the start mark contains the boot it belongs to.
 */
export interface ProcessIdentity {
  pid: number;
  startMark: string;
}

/** Identity of a running process, undefined when there is none with that pid (a zombie counts as none). */
export function identify(pid: number): ProcessIdentity | undefined {
  const startMark = process.platform === 'linux' ? linuxStartMark(pid) : psStartMark(pid);
  return startMark === undefined ? undefined : { pid, startMark };
}

/** True while exactly this process runs; false once it ended, also when its pid was given to another one. */
export function isRunning(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.startMark === identity.startMark;
}

function linuxStartMark(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name stands in parentheses and may hold spaces; the fields that follow it are plain. State is the 3rd field, start the 22nd.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    return `${bootId()}/${fields[19]}`;
  } catch {
    return undefined;
  }
}

function psStartMark(pid: number): string | undefined {
  try {
    const [state, ...started] = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' })
      .trim()
      .split(/\s+/);
    return state === undefined || state.startsWith('Z') ? undefined : started.join(' ');
  } catch {
    return undefined;
  }
}

let boot: string | undefined;
function bootId(): string {
  boot ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return boot;
}
