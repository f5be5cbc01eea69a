import { growth } from './failures/growth.js';
import { headOfLine } from './failures/head-of-line.js';
import { retryAccuracy } from './failures/retry-accuracy.js';
import { type BenchResult, writeReport } from './report.js';

/**
 * What failing leads cost the others, how exactly a failed one is tried again, and what the rows of the past cost: with real crm-writer
 * processes between stand-ins. Sizes: BENCH_LEADS (good leads behind the poison, default 2,000), BENCH_RECORDS (retries, default 1,000),
 * BENCH_DRAIN (leads of a drain over full tables, default 10,000), BENCH_ROWS (a second size of these tables, such as 1,000,000; the first is
 * 50,000), BENCH_ROUNDS (default 5).
 */
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const leads = Number(process.env.BENCH_DRAIN ?? 10_000);
const sizes = [50_000, Number(process.env.BENCH_ROWS ?? 0)].filter((rows) => rows > 0);

const results: BenchResult[] = [
  await headOfLine(Number(process.env.BENCH_LEADS ?? 2_000), rounds),
  await retryAccuracy(Number(process.env.BENCH_RECORDS ?? 1_000), rounds),
];
for (const rows of sizes) results.push(await growth(rows, { leads, rounds }));
writeReport({ bench: 'failures', results });
