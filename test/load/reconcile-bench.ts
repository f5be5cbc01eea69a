import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { type Discrepancy, listDiscrepanciesRequest, type ReconcileRun } from '#delivery';
import { listDiscrepancies } from '../../apps/reconciler/src/discrepancies/list-discrepancies.js';
import { listRuns } from '../../apps/reconciler/src/runs/list-runs.js';
import { startRun } from '../../apps/reconciler/src/runs/start-run.js';
import { eventually } from '../support/eventually.js';
import { openReconcilerDatabase } from '../support/reconcile/open-tools.js';
import { type Planted, placesOf, plant } from '../support/reconcile/plant.js';
import { openWorld } from '../support/reconcile/world.js';
import { type BenchResult, writeReport } from './report.js';

/**
 * BENCH_LEADS (default 100,000) delivered leads against what a CRM holds of them, over PostgreSQL and HTTP, by a process of its own as it runs
 * in production: once as everything was left, once with ten planted faults of each kind, once killed half-way and gone on with by another.
 */
const leads = Number(process.env.BENCH_LEADS ?? 100_000);
const rate = Number(process.env.BENCH_RATE ?? 50);
const each = 10;
const page = 200;
const longestMs = 1_200_000;

const world = await openWorld({ leads, page, rate, dropped: placesOf('missing', { leads, each }) });
const db = await openReconcilerDatabase(world.databaseUrl);
let worker = begin();
let maxRssMb = 0;
let cpuSeconds = 0;

function begin(): ChildProcess {
  // As the launcher starts it.
  const execArgv = ['--max-old-space-size=512', '--max-semi-space-size=8'];
  const env = {
    ...process.env,
    MALLOC_ARENA_MAX: '2',
    WORLD_URL: world.url,
    WORLD_DATABASE: world.databaseUrl,
    WORLD_SITE: JSON.stringify(world.document),
  };
  const child = fork(join(import.meta.dirname, 'reconcile', 'reconciler-process.js'), { env, execArgv });
  child.on('message', (message: { maxRssMb: number; cpuSeconds: number }) => {
    maxRssMb = Math.max(maxRssMb, message.maxRssMb);
    cpuSeconds = message.cpuSeconds;
  });
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}

const window = { from: new Date(Date.now() - 7 * 86_400_000).toISOString(), to: new Date(Date.now() + 3_600_000).toISOString() };

async function start(): Promise<string> {
  const answer = await startRun({ db, site: world.site }, { destination: 'crm', ...window, by: 'bench' });
  if (!('run_id' in answer)) throw new Error(answer.refused);
  return answer.run_id;
}

async function runOf(runId: string): Promise<ReconcileRun> {
  const [run] = (await listRuns(db, { ids: [runId], limit: 1 })).items;
  if (run === undefined) throw new Error('no such run');
  return run;
}

function ended(runId: string): Promise<ReconcileRun> {
  return eventually(async () => {
    const run = await runOf(runId);
    if (run.state !== 'finished') throw new Error(`${run.state} ${run.reason ?? ''}`);
    return run;
  }, longestMs);
}

async function open(): Promise<Discrepancy[]> {
  const all: Discrepancy[] = [];
  let after: string | undefined;
  do {
    const answer = await listDiscrepancies(db, listDiscrepanciesRequest.parse({ limit: 500, after, state: 'open' }));
    all.push(...answer.items);
    after = answer.next;
  } while (after !== undefined);
  return all;
}

/** How many of the planted faults were found, and how many that were not planted. */
function score(found: readonly Discrepancy[], planted: Planted): { right: number; wrong: number } {
  const isPlanted = ({ class: name, aspect, ref, event_id }: Discrepancy): boolean => {
    const wanted = planted.get(aspect === undefined ? name : `${name}/${aspect}`);
    return wanted?.has(event_id ?? '') === true || wanted?.has(ref ?? '') === true;
  };
  const right = found.filter(isPlanted).length;
  return { right, wrong: found.length - right };
}

const seconds = ({ started_at, finished_at }: ReconcileRun): number =>
  (Date.parse(finished_at ?? '') - Date.parse(started_at ?? '')) / 1_000;

const first = await ended(await start());
const falseAtFirst = (await open()).length;
const cpuBefore = cpuSeconds;
const planted = await plant(world, each);
const second = await ended(await start());
const { right, wrong } = score(await open(), planted);
const rssMb = maxRssMb;
const cpu = cpuSeconds - cpuBefore;

const third = await start();
await eventually(async () => {
  if ((await runOf(third)).counts.compared < leads / 2) throw new Error('not half-way');
}, longestMs);
await kill(worker);
const done = (await runOf(third)).calls;
worker = begin();
const resumed = await ended(third);
await kill(worker);
await db.close();
await world.close();

const what = `${leads.toLocaleString('en')} leads compared with a CRM, ${rate} calls/s at most`;
const results: BenchResult[] = [
  { what: `${what}: nothing planted`, unit: 's', ours: seconds(first), goal: '< 180', note: `${falseAtFirst} false, ${first.calls} calls` },
  {
    what: `${what}: ${each} faults of each of ${planted.size} kinds`,
    unit: 's',
    ours: seconds(second),
    goal: '< 180',
    note: `${right} of ${planted.size * each} found, ${wrong} false, ${second.calls} calls`,
  },
  { what: `${what}: memory of its process`, unit: 'MB', ours: rssMb, goal: '< 300' },
  { what: `${what}: processor time of its process`, unit: 's', ours: cpu, note: 'the time above includes its CRM, and whatever else ran' },
  {
    what: `${what}: calls after a kill half-way`,
    unit: 'calls',
    ours: resumed.calls - done,
    baseline: second.calls - done,
    goal: 'no more than what was left and one page',
    note: `killed after ${done} calls`,
  },
];
writeReport({ bench: 'reconcile', results });
process.exit(0);
