import { eventually } from '../support/eventually.js';
import { BatchClient, deadLeads } from '../support/replay-batches.js';
import { openStack } from '../support/stack.js';
import { writeReport } from './report.js';

/** How exactly a replay in bulk keeps its rate over a whole stack: BENCH_ITEMS (default 10,000) dead leads at BENCH_RATE (default 200) a second. */
const count = Number(process.env.BENCH_ITEMS ?? 10_000);
const rate = Number(process.env.BENCH_RATE ?? 200);

const open = await openStack();
const client = new BatchClient(open);
await deadLeads(open, client, { count, prefix: 'replay' });
const { batch_id } = await client.approved({ filter: { destination: 'sandbox-crm' }, max: count, rate_per_s: rate, concurrency: 2_000 });
const done = await eventually(
  async () => {
    const report = await client.report(batch_id);
    if (!['finished', 'stopped', 'paused'].includes(report.state)) throw new Error(report.state);
    return report;
  },
  600_000 + (count / rate) * 2_000,
);
const items = await client.items(batch_id);
const times = items
  .slice(done.canary.size)
  .flatMap(({ sent_at }) => (sent_at === null ? [] : [Date.parse(sent_at)]))
  .toSorted((a, b) => a - b);
const measured = ((times.length - 1) * 1_000) / ((times.at(-1) ?? 0) - (times[0] ?? 0));
const { records, duplicateEffects, lookups } = { ...(await open.sandbox.crmStats()) };
await open.close();
writeReport({
  bench: 'replay',
  results: [
    {
      what: `items sent a second by a replay of ${count} dead leads at ${rate}/s, behind its canary`,
      unit: 'items/s',
      ours: measured,
      baseline: rate,
      ratio: measured / rate,
      goal: '0.98 to 1.02',
      note: `ended ${done.state}; ${done.counts.succeeded} succeeded, ${records} records, ${duplicateEffects} duplicates, ${lookups} lookups`,
    },
  ],
});
