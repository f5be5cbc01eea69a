import { type RetryTier, retryTierMs } from '#contracts';
import { createKafka } from '#messaging';
import { createLogger } from '#runtime';
import { startTestInfra } from '#testkit';
import { at, measureTier } from '../support/tier-lateness.js';
import { type BenchResult, median, writeReport } from './report.js';

/**
 * How late a retry tier hands its records on: due times random over its real length, in no order, one partition. The two tiers of 15 s and
 * 1 min with few records; the smallest also at the default bound of 10,000 records in memory (and one fetch more), and with ten times as many
 * waiting, where the rest stays in the log until there is room and is late by up to the length of the tier. Sizes: BENCH_ROUNDS (default 5).
 */
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const bound = 10_000;
const sizes: readonly { tier: RetryTier; records: number }[] = [
  { tier: '15s', records: 5_000 },
  { tier: '1m', records: 5_000 },
  { tier: '15s', records: bound },
  { tier: '15s', records: 10 * bound },
];
const logger = createLogger('tiers-bench', 'warn');

async function main(): Promise<void> {
  const infra = await startTestInfra({ progress: (line) => console.error(line) });
  const kafka = createKafka({ brokers: infra.kafkaBrokers.split(','), clientId: 'tiers-bench', logger });
  const results: BenchResult[] = [];
  for (const { tier, records } of sizes) {
    const runs: { p50: number; p99: number; max: number }[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      const { early, again, latenessMs } = await measureTier({ kafka, records, tier });
      if (early + again > 0) throw new Error(`${early} records were handed out early and ${again} again`);
      const run = { p50: at(latenessMs, 0.5), p99: at(latenessMs, 0.99), max: at(latenessMs, 1) };
      console.error(`round ${round}: ${records} records of ${tier}, p50 ${run.p50} ms, p99 ${run.p99} ms, max ${run.max} ms late`);
      runs.push(run);
    }
    results.push({
      what: `lateness (p99) of ${records} records of the ${retryTierMs[tier] / 1_000} s tier in no order, ${bound} held in memory`,
      unit: 'ms',
      ours: median(runs.map(({ p99 }) => p99)),
      goal: records <= bound ? '<= 1,000' : undefined,
      note: `none early; p50 ${median(runs.map(({ p50 }) => p50))}, max ${median(runs.map(({ max }) => max))}`,
      samples: { ours: runs.map(({ p99 }) => p99) },
    });
  }
  await kafka.close();
  writeReport({ bench: 'tiers', results });
}

await main();
