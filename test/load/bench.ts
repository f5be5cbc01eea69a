import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { identify, runningTestInfra, startTestInfra, stopTestInfra } from '#testkit';
import { format, type MeasuredReport, mergeRows, pageText, readRows } from './page.js';
import type { BenchReport, BenchResult } from './report.js';

/**
 * `npm run bench`: runs every benchmark in turn, each in its own process and with its baseline in the same run, and writes docs/benchmarks.md.
 * `npm run bench -- relay` runs one anew; the page keeps the rows of the others. Nothing here fails on a figure; a benchmark that cannot run does.
 */
const benches = [
  'intake',
  'relay',
  'consumer',
  'tiers',
  'crm-writer',
  'failures',
  'drain',
  'operator',
  'replay',
  'reconcile',
  'idle',
] as const;
const wanted = process.argv.slice(2).filter((name) => !name.startsWith('-'));
const root = process.cwd();
const folder = join(root, '.cache', 'bench');
mkdirSync(folder, { recursive: true });
const pageFile = join(root, 'docs', 'benchmarks.md');
const reports: MeasuredReport[] = [];

const fileOf = (bench: string): string => join(folder, `${bench}.json`);
const reportOf = (bench: string): BenchReport => JSON.parse(readFileSync(fileOf(bench), 'utf8')) as BenchReport;

const startedHere = runningTestInfra() === undefined;
await startTestInfra({ owner: identify(process.pid), progress: (text) => console.log(text) });
for (const bench of benches.filter((name) => wanted.length === 0 || wanted.includes(name))) {
  console.log(`\n== ${bench}`);
  const at = `${today()} at ${commit()}`;
  const script = join(root, 'dist', 'test', 'load', `${bench}-bench.js`);
  const { status } = spawnSync(process.execPath, ['--expose-gc', script, fileOf(bench)], { stdio: 'inherit' });
  if (status !== 0) {
    process.exitCode = 1;
    break;
  }
  const report = reportOf(bench);
  reports.push({ report, at });
  for (const result of report.results) console.log(line(result));
}
if (startedHere) await stopTestInfra();
const kept = existsSync(pageFile) ? readRows(readFileSync(pageFile, 'utf8')) : [];
writeFileSync(pageFile, pageText(mergeRows(kept, reports, benches), lastRun()));

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/** Short hash of what is measured, with a `+` when there are changes beside the page itself; `unknown` outside a repository. */
function commit(): string {
  const git = (...args: string[]): string => {
    const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
    return status === 0 ? stdout.trim() : '';
  };
  const changed = git('status', '--porcelain', '--untracked-files=no', '--', '.', ':(exclude)docs/benchmarks.md') !== '';
  return `${git('rev-parse', '--short', 'HEAD') || 'unknown'}${changed ? '+' : ''}`;
}

/** The machine and the end of this run, for the page. */
function lastRun(): string {
  const model = cpus()[0]?.model.trim() ?? 'unknown';
  return `on ${today()}: ${cpus().length} cores (${model}), Node ${process.versions.node}, load ${loadavg()[0]?.toFixed(1)} at the end`;
}

function line({ what, ours, baseline, ratio, goal, unit }: BenchResult): string {
  const against = baseline === undefined ? '' : ` against ${format(baseline)}`;
  const relation = ratio === undefined ? '' : ` = ${ratio.toFixed(2)}`;
  return `${what}: ${format(ours)} ${unit}${against}${relation}${goal ? ` (goal ${goal})` : ''}`;
}
