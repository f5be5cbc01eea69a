import { growth } from './failures/growth.js';
import { headOfLine } from './failures/head-of-line.js';
import { rebalance } from './failures/rebalance.js';
import { retryAccuracy } from './failures/retry-accuracy.js';
import { type BenchResult, writeReport } from './report.js';

/**
 * What failing leads cost the others, how exactly a failed one is tried again, and what the rows of the past cost: with real crm-writer
 * processes between stand-ins. Sizes: BENCH_LEADS (good leads behind the poison, default 10,000), BENCH_RECORDS (retries, default 5,000),
 * BENCH_DRAIN (leads of a drain over full tables, default 10,000), BENCH_ROWS (a second size of these tables, default 1,000,000; 0: none; the
 * first is 50,000), BENCH_ROUNDS (default 5).
 */
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const leads = Number(process.env.BENCH_DRAIN ?? 10_000);
const records = Number(process.env.BENCH_RECORDS ?? 5_000);
const sizes = [50_000, Number(process.env.BENCH_ROWS ?? 1_000_000)].filter((rows) => rows > 0);

const results: BenchResult[] = [
  await headOfLine(Number(process.env.BENCH_LEADS ?? 10_000), rounds),
  await retryAccuracy(records, rounds),
  await rebalance(records, rounds),
];
for (const rows of sizes) results.push(...(await growth(rows, { leads, rounds })));
writeReport({ bench: 'failures', results });
