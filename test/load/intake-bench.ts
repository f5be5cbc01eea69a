import pg from 'pg';
import type { Database } from '#runtime';
import { startTestInfra, testDatabase } from '#testkit';
import { openIntakeDatabase } from '../../apps/intake/test/fixture.js';
import { bareTables } from './intake/bare-servers.js';
import { insertRate, sampleLead } from './intake/insert-rate.js';
import { insertScript } from './intake/insert-script.js';
import { findPgbench, pgbenchRate } from './intake/pgbench.js';
import { httpRate, type ServerKind } from './intake/server-process.js';
import { type BenchResult, median, writeReport } from './report.js';

/**
 * How many leads intake saves per second: its insert against pgbench with the same SQL, its HTTP door against a bare server that does the least, and
 * against itself with one transaction per request. BENCH_SECONDS per run (default 5), BENCH_ROUNDS (default 5).
 */
const seconds = Number(process.env.BENCH_SECONDS ?? 5);
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const single = { clients: 8, size: 1 };
const batched = { clients: 2, size: 100 };

type Runs = Record<string, () => Promise<number> | number>;
interface Bench {
  url: string;
  db: Database;
  owner: pg.Client;
}

/** Every run once per round, each round beginning with another; every run on empty tables. The first round warms up. */
async function interleaved({ owner }: Bench, runs: Runs): Promise<Record<string, number[]>> {
  const names = Object.keys(runs);
  const samples: Record<string, number[]> = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of names) {
      await owner.query('truncate intake.intake_key, intake.lead, intake.vault, intake.delivery, intake.outbox, bare_lead, bare_outbox');
      const figure = (await runs[name]?.()) ?? Number.NaN;
      console.error(`${round === 0 ? 'warm-up' : `round ${round}`}: ${name} ${Math.round(figure)}`);
      if (round > 0) samples[name]?.push(figure);
    }
    names.push(...names.splice(0, 1));
  }
  return samples;
}

async function inserts(bench: Bench): Promise<BenchResult[]> {
  const sample = sampleLead(bench.db);
  const pgbench = findPgbench();
  const ours = (run: typeof single) => () => insertRate(bench.db, sample, { ...run, seconds });
  const theirs = ({ clients, size }: typeof single) =>
    pgbench === undefined
      ? undefined
      : () => pgbenchRate({ pgbench, url: bench.url, script: insertScript(sample, size), clients, seconds }) * size;
  const runs: Runs = { 'ours single': ours(single), 'ours batched': ours(batched) };
  const [one, many] = [theirs(single), theirs(batched)];
  if (one && many) Object.assign(runs, { 'pgbench single': one, 'pgbench batched': many });
  const samples = await interleaved(bench, runs);
  const describe = ({ clients, size }: typeof single) =>
    `leads saved by our insert, ${size} per statement, ${clients} at once, against pgbench with the same SQL`;
  return [
    compared({ what: describe(single), unit: 'leads/s', goal: '>= 0.9' }, samples['ours single'], samples['pgbench single']),
    compared({ what: describe(batched), unit: 'leads/s', goal: '>= 0.65' }, samples['ours batched'], samples['pgbench batched']),
  ];
}

async function http(bench: Bench): Promise<BenchResult[]> {
  const p99: Record<string, number[]> = {};
  const run = (kind: ServerKind) => async () => {
    const { perSecond, p99Ms } = await httpRate(kind, bench.url, seconds);
    p99[kind] = [...(p99[kind] ?? []), p99Ms];
    return perSecond;
  };
  const kinds: ServerKind[] = ['intake', 'bare coalescing', 'bare same rows', 'intake per request', 'bare per request'];
  const samples = await interleaved(bench, Object.fromEntries(kinds.map((kind) => [kind, run(kind)])));
  const note = kinds.map((kind) => `${kind}: p99 ${median(p99[kind] ?? [])} ms`).join(', ');
  const posts = 'POST /v1/leads answered, 64 connections';
  return [
    compared(
      { what: `${posts}, against a bare coalescing server that saves two rows`, unit: 'requests/s', goal: '>= 0.5', note },
      samples.intake,
      samples['bare coalescing'],
    ),
    compared(
      { what: `${posts}, against a bare coalescing server that saves the same rows`, unit: 'requests/s' },
      samples.intake,
      samples['bare same rows'],
    ),
    compared(
      { what: `${posts}, against the same door with one transaction per request`, unit: 'requests/s', goal: '>= 2' },
      samples.intake,
      samples['intake per request'],
    ),
    compared(
      { what: `${posts}, against a bare server with one transaction per request`, unit: 'requests/s' },
      samples.intake,
      samples['bare per request'],
    ),
  ];
}

function compared(about: Pick<BenchResult, 'what' | 'unit' | 'goal' | 'note'>, ours: number[] = [], baseline?: number[]): BenchResult {
  if (!baseline) return { ...about, ours: median(ours), note: 'pgbench is not installed: no baseline', samples: { ours } };
  return { ...about, ours: median(ours), baseline: median(baseline), ratio: median(ours) / median(baseline), samples: { ours, baseline } };
}

async function main(): Promise<void> {
  await startTestInfra({ progress: (line) => console.error(line) });
  const database = await testDatabase('intake_bench');
  const db = await openIntakeDatabase(database.url, 8);
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  await owner.query(bareTables);
  const bench = { url: database.url, db, owner };
  const results = [...(await inserts(bench)), ...(await http(bench))];
  await owner.end();
  await db.close();
  await database.drop();
  writeReport({ bench: 'intake', results });
}

await main();
