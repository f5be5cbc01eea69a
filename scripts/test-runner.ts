// `npm test [-- stage …]`: runs the rounds of test-rounds.ts one after the other, prints every failure again at the end, and closes with
// `N passed, N failed` alone on a line. Ends non-zero when anything failed or nothing ran. LD_TEST_SIZE=long is the size of `npm run test:long`;
// LD_TEST_WORKERS is how many spec files run side by side (default 2).
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testSize } from '#testkit';
import { runPreparation } from './run-preparation.js';
import { choiceOf, countRound, type Round, reportOf, rounds } from './test-rounds.js';
import {
  add,
  type Counts,
  chosenStages,
  closingLine,
  type JestReport,
  none,
  type Prepared,
  type Stage,
  slowest,
  unprepared,
} from './test-stages.js';

const root = process.cwd();
const size = testSize();
/** Jest writes its report when the last test has ended, and then waits for whatever a test left open: not longer than this. */
const endGraceMs = 30_000;
/** A stage that hangs is killed and counted as failed, so that a run always ends with its closing line. */
const stageLimitMs = (size === 'long' ? 120 : 40) * 60_000;
/** A preparation that hangs is a failure of its stage, and of no other. */
const preparationLimitMs = 15 * 60_000;
/** In a run that decides about a change nothing is passed over. */
const strict = (process.env.CI ?? '') !== '';
const folder = mkdtempSync(join(tmpdir(), 'lead-delivery-test-'));
let running: ChildProcess | undefined;
const preparing = new Set<number>();
let interrupted = false;

function jestArguments(round: Round, outputFile: string): string[] {
  const jest = join(root, 'node_modules/jest/bin/jest.js');
  const options = [...choiceOf(round), '--json', `--outputFile=${outputFile}`, '--passWithNoTests'];
  // Side by side on two cores: tests against servers mostly wait, for leases, for deadlines, for one another. Nothing is shared between workers.
  options.push(`--maxWorkers=${process.env.LD_TEST_WORKERS?.trim() || '2'}`);
  return ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', jest, ...options];
}

/** What became of each stage of the round. */
function runRound(round: Round): Promise<{ counts: Counts; slow: string[] }[]> {
  console.log(`\n== ${namesOf(round)}`);
  const outputFile = join(folder, `${round.map(({ name }) => name).join('-')}.json`);
  // Jest repeats its JSON on stdout; people read its stderr. A group of its own, so that a hung stage goes with all that it started.
  const child = spawn(process.execPath, jestArguments(round, outputFile), {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, LD_TEST_SIZE: size },
    detached: true,
  });
  running = child;
  const limit = setTimeout(() => killGroup(child), stageLimitMs * round.length);
  let grace: NodeJS.Timeout | undefined;
  const watch = setInterval(() => {
    if (!existsSync(outputFile)) return;
    clearInterval(watch);
    grace = setTimeout(() => killGroup(child), endGraceMs);
  }, 1_000);
  return new Promise((resolve) => {
    child.once('close', (exitCode) => {
      for (const timer of [limit, grace]) clearTimeout(timer);
      clearInterval(watch);
      running = undefined;
      const report = readReport(outputFile);
      const counts = countRound(round, report, exitCode);
      resolve(round.map((stage, at) => ({ counts: counts[at] ?? none, slow: slowest(reportOf(stage, round, report), root) })));
    });
  });
}

const namesOf = (round: Round): string => round.map(({ name }) => name).join(', ');

/** Gives way to the tests that run meanwhile. */
function prepare({ name, prepare: program = '' }: Stage): Promise<Prepared> {
  const { pid, ended } = runPreparation({
    command: 'nice',
    args: [process.execPath, join(root, 'dist', program)],
    cwd: root,
    limitMs: preparationLimitMs,
    print: (line) => console.log(`${name}: ${line}`),
  });
  if (pid === undefined) return ended;
  preparing.add(pid);
  return ended.finally(() => preparing.delete(pid));
}

function readReport(file: string): JestReport | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as JestReport;
  } catch {
    return undefined;
  }
}

function killGroup(child: ChildProcess): void {
  console.log('Killed: it did not end by itself');
  if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    interrupted = true;
    for (const pid of [running?.pid, ...preparing]) if (pid !== undefined) process.kill(-pid, signal);
  });
}

/** Of a stage that needs no preparation. */
const ready: Prepared = { exitCode: 0, said: '' };

async function main(): Promise<void> {
  let total = none;
  const chosen = chosenStages(process.argv.slice(2));
  const prepared = new Map(chosen.filter((stage) => stage.prepare !== undefined).map((stage) => [stage, prepare(stage)]));
  for (const round of rounds(chosen)) {
    if (interrupted) break;
    const possible: Stage[] = [];
    for (const stage of round) {
      const instead = unprepared(stage, (await prepared.get(stage)) ?? ready, strict);
      if (instead === undefined) possible.push(stage);
      else console.log(`\n== ${instead.notice}`);
      total = add(total, instead?.counts ?? none);
    }
    if (possible.length === 0 || interrupted) continue;
    const startedAt = Date.now();
    let counted = none;
    for (const [at, { counts, slow }] of (await runRound(possible)).entries()) {
      counted = add(counted, counts);
      for (const line of slow) console.log(line);
      if (possible.length > 1) console.log(`${possible[at]?.name}: ${closingLine(counts)}`);
    }
    total = add(total, counted);
    console.log(`${namesOf(possible)}: ${closingLine(counted)} in ${Math.round((Date.now() - startedAt) / 1000)} s`);
  }
  rmSync(folder, { recursive: true });
  for (const failure of total.failures) console.log(`\nFAILED ${failure}`);
  console.log(`\n${closingLine(total)}`);
  if (total.failed > 0 || total.passed === 0 || interrupted) process.exitCode = 1;
}

await main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 2;
});
