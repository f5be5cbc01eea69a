import { readdirSync, readFileSync } from 'node:fs';
import { startStack } from '#testkit';
import { type BenchResult, median, writeReport } from './report.js';

/** CPU seconds per minute and resident memory of the whole stack (supervisor, servers, services, sandbox) with nothing to do. */
const windowMs = 20_000;
const samples = 5;
const ticksPerSecond = 100;

interface ProcessUse {
  pid: number;
  parent: number;
  ticks: number;
  residentKb: number;
}

function processes(): ProcessUse[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        const rollup = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'));
        return [
          {
            pid: Number(name),
            parent: Number(fields[1]),
            ticks: Number(fields[11]) + Number(fields[12]),
            residentKb: Number(rollup?.[1] ?? 0),
          },
        ];
      } catch {
        return [];
      }
    });
}

/** A process and all that descend from it. */
function family(root: number): ProcessUse[] {
  const all = processes();
  const members = new Set([root]);
  for (let grown = true; grown; ) {
    const before = members.size;
    for (const { pid, parent } of all) if (members.has(parent)) members.add(pid);
    grown = members.size > before;
  }
  return all.filter(({ pid }) => members.has(pid));
}

const stack = await startStack({});
const results: BenchResult[] = [];
try {
  await new Promise((resolve) => setTimeout(resolve, 15_000));
  const cpu: number[] = [];
  for (let at = 0; at < samples; at += 1) {
    const before = new Map(family(stack.supervisorPid).map(({ pid, ticks }) => [pid, ticks]));
    await new Promise((resolve) => setTimeout(resolve, windowMs));
    const used = family(stack.supervisorPid).reduce((sum, { pid, ticks }) => sum + ticks - (before.get(pid) ?? 0), 0);
    cpu.push((used / ticksPerSecond) * (60_000 / windowMs));
  }
  const residentMb = family(stack.supervisorPid).reduce((sum, { residentKb }) => sum + residentKb, 0) / 1024;
  results.push({
    what: 'CPU of the whole stack when idle',
    unit: 'CPU s per minute',
    ours: median(cpu),
    goal: 'near zero',
    samples: { ours: cpu },
  });
  results.push({
    what: 'resident memory of the whole stack',
    unit: 'MB',
    ours: residentMb,
    goal: '≤ 2048',
    note: 'shared pages counted in each process',
  });
} finally {
  await stack.stop();
}
writeReport({ bench: 'idle', results });
