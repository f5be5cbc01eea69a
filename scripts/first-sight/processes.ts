// Reads /proc; where there is none (macOS) every list is empty.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { identify, type ProcessIdentity } from '#testkit';

export interface Member {
  identity: ProcessIdentity;
  /** Its command line. */
  command: string;
  /** Resident memory in KB, pages that it shares with others counted in full. */
  rssKb: number;
  /** The same with each shared page divided among those who share it. */
  pssKb: number;
}

/** A process and all that descend from it, whatever session they are in. */
export function familyOf(root: number): Member[] {
  const parents = new Map(pids().map((pid) => [pid, parentOf(pid)]));
  const descends = (pid: number | undefined): boolean => pid !== undefined && (pid === root || descends(parents.get(pid)));
  return [...parents.keys()].filter(descends).flatMap(memberOf);
}

/** Command lines of processes that name the folder: whatever was started from it and still runs. */
export function startedFrom(folder: string): string[] {
  return pids().flatMap((pid) => {
    const command = read(pid, 'cmdline').replaceAll('\0', ' ').trim();
    return command.includes(folder) ? [`${pid} ${command.slice(0, 120)}`] : [];
  });
}

function memberOf(pid: number): Member[] {
  const identity = identify(pid);
  if (identity === undefined) return [];
  return [
    {
      identity,
      command: read(pid, 'cmdline').replaceAll('\0', ' ').trim(),
      rssKb: Number(/^VmRSS:\s+(\d+)/m.exec(read(pid, 'status'))?.[1] ?? 0),
      pssKb: Number(/^Pss:\s+(\d+)/m.exec(read(pid, 'smaps_rollup'))?.[1] ?? 0),
    },
  ];
}

const pids = (): number[] => (existsSync('/proc/self/stat') ? readdirSync('/proc').map(Number).filter(Number.isInteger) : []);

function parentOf(pid: number): number | undefined {
  const parent = Number(/^PPid:\s+(\d+)/m.exec(read(pid, 'status'))?.[1] ?? 0);
  return parent === 0 ? undefined : parent;
}

/** Empty when the process has ended meanwhile, or is not ours to look at. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
