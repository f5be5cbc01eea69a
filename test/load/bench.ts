import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { identify, runningTestInfra, startTestInfra, stopTestInfra } from '#testkit';
import type { BenchReport, BenchResult } from './report.js';

/**
 * `npm run bench`: runs every benchmark in turn, each in its own process and with its baseline in the same run, and writes docs/benchmarks.md.
 * `npm run bench -- relay` runs one anew; the page keeps the last report of the others. Nothing here fails on a figure; a benchmark that cannot run does.
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

const fileOf = (bench: string): string => join(folder, `${bench}.json`);
const reportOf = (bench: string): BenchReport => JSON.parse(readFileSync(fileOf(bench), 'utf8')) as BenchReport;

const startedHere = runningTestInfra() === undefined;
await startTestInfra({ owner: identify(process.pid), progress: (text) => console.log(text) });
for (const bench of benches.filter((name) => wanted.length === 0 || wanted.includes(name))) {
  console.log(`\n== ${bench}`);
  const script = join(root, 'dist', 'test', 'load', `${bench}-bench.js`);
  const { status } = spawnSync(process.execPath, ['--expose-gc', script, fileOf(bench)], { stdio: 'inherit' });
  if (status !== 0) {
    process.exitCode = 1;
    break;
  }
  for (const result of reportOf(bench).results) console.log(line(result));
}
if (startedHere) await stopTestInfra();
writeFileSync(join(root, 'docs', 'benchmarks.md'), page(benches.filter((name) => existsSync(fileOf(name))).map(reportOf)));

function line({ what, ours, baseline, ratio, goal, unit }: BenchResult): string {
  const against = baseline === undefined ? '' : ` against ${format(baseline)}`;
  const relation = ratio === undefined ? '' : ` = ${ratio.toFixed(2)}`;
  return `${what}: ${format(ours)} ${unit}${against}${relation}${goal ? ` (goal ${goal})` : ''}`;
}

function format(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}

function page(all: readonly BenchReport[]): string {
  const rows = all.flatMap(({ bench, results }) =>
    results.map(
      (r) =>
        `| ${bench} | ${r.what} | ${format(r.ours)} ${r.unit} | ${r.baseline === undefined ? '' : format(r.baseline)} | ${r.ratio === undefined ? '' : r.ratio.toFixed(2)} | ${r.goal ?? ''} | ${r.note ?? ''} |`,
    ),
  );
  return `# Benchmarks

Written by \`npm run bench\` on ${new Date().toISOString().slice(0, 10)}: ${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), Node ${process.versions.node}, load ${loadavg()[0]?.toFixed(1)} at the end.
Each figure is the median of five, interleaved with its baseline in the same run. Ratios travel between machines; absolute figures do not. The baselines are in \`test/load\` at their best flags.

| benchmark | what | ours | baseline | ratio | goal | note |
|---|---|---|---|---|---|---|
${rows.join('\n')}
`;
}
