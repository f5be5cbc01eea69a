import { type Pace, paceOf } from '../../apps/operator/test/pace-of.js';
import { eventually } from '../support/eventually.js';
import { BatchClient, type BatchReport, deadLeads } from '../support/replay-batches.js';
import { openStack } from '../support/stack.js';
import { type BenchResult, writeReport } from './report.js';

/**
 * How exactly a replay in bulk keeps its rate over a whole stack: BENCH_ITEMS (default 10,000) dead leads at BENCH_RATE (default 200) a second,
 * left alone and with the runner killed a third of the way.
 */
const count = Number(process.env.BENCH_ITEMS ?? 10_000);
const rate = Number(process.env.BENCH_RATE ?? 200);
const limitMs = 600_000 + (count / rate) * 2_000;

const open = await openStack();
const client = new BatchClient(open);

const until = (batchId: string, what: (report: BatchReport) => boolean): Promise<BatchReport> =>
  eventually(async () => {
    const report = await client.report(batchId);
    if (!what(report)) throw new Error(report.state);
    return report;
  }, limitMs);

async function replayed(prefix: string, killed: boolean): Promise<{ pace: Pace; note: string }> {
  const submitted_from = new Date().toISOString();
  await deadLeads(open, client, { count, prefix });
  const before = await open.sandbox.crmStats();
  const filter = { destination: 'sandbox-crm', submitted_from };
  const { batch_id } = await client.approved({ filter, max: count, rate_per_s: rate, concurrency: 2_000 });
  if (killed) {
    await until(batch_id, ({ counts }) => (counts.sent ?? 0) >= count / 3);
    await open.stack.kill('operator');
    await open.stack.ready('operator');
  }
  const done = await until(batch_id, ({ state }) => ['finished', 'stopped', 'paused'].includes(state));
  const pace = paceOf(await client.items(batch_id));
  const after = await open.sandbox.crmStats();
  const [records, lookups] = [after.records - before.records, after.lookups - before.lookups];
  const came = `${done.counts.succeeded} succeeded, ${records} records, ${after.duplicateEffects} duplicates, ${lookups} lookups`;
  const note = `ended ${done.state}; ${came}; ${pace.busiestSecond} in the busiest second, ${(pace.standstillMs / 1_000).toFixed(1)} s without any`;
  return { pace, note };
}

const row = (how: string, { pace, note }: { pace: Pace; note: string }): BenchResult => ({
  what: `items sent a second by a replay of ${count} dead leads at ${rate}/s, behind its canary${how}`,
  unit: 'items/s',
  ours: pace.rate,
  baseline: rate,
  ratio: pace.rate / rate,
  goal: '0.98 to 1.02',
  note,
});

const alone = row('', await replayed('replay', false));
const killed = row(', its runner killed once', await replayed('killed', true));
await open.close();
writeReport({ bench: 'replay', results: [alone, killed] });
