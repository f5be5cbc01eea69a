import { loadavg } from 'node:os';
import { eventually, pause } from '#testkit';
import { openStack } from '../support/stack.js';
import { at } from '../support/tier-lateness.js';
import { concurrency, crmLatencyMs, most, TwoCrms, twoCrmSite } from '../support/two-crms.js';
import { type BenchResult, writeReport } from './report.js';

/**
 * One CRM of two fails every request for a while (BENCH_OUTAGE_SECONDS, default 600) while leads for both arrive through
 * intake: how fast its backlog drains when it is back, what the memory of crm-writer and intake does, and what the other CRM's leads notice. The steady
 * rate is that of a backlog that was handed in at once, with the same leads arriving and a CRM as slow.
 */
const outageSeconds = Number(process.env.BENCH_OUTAGE_SECONDS ?? 600);
const beforeSeconds = Math.min(60, outageSeconds);
/** Leads for each CRM. */
const perSecond = 50;
const burstLeads = 2_000;

async function measure(bench: TwoCrms): Promise<BenchResult[]> {
  const { load } = bench;
  await bench.slowDown();
  load.start();
  // The process is warm when it is measured.
  await pause(beforeSeconds * 1_000);
  await load.burst('broken', burstLeads);
  const steadyRate = await bench.drain();
  await bench.caughtUp();
  console.error(`steady rate: ${steadyRate.toFixed(0)} leads/s`);

  const beforeMs = Date.now();
  const memoryBefore = await bench.mostMemory(beforeSeconds);
  const outageMs = Date.now();
  await bench.breakDown();
  const memoryDuring = await bench.mostMemory(outageSeconds);
  const hits = await bench.comeBack();
  const backMs = Date.now();
  const drainRate = await bench.drain();
  const memory = most(memoryDuring, bench.memory());
  const drainedMs = Date.now();
  await load.stop();
  await bench.caughtUp();
  await eventually('every lead to be at its CRM', async () => (await bench.stats('broken')).records >= load.accepted.broken, {
    timeoutMs: 120_000,
  });
  if (hits === 0) throw new Error('the outage met no request');
  if (Number.isNaN(steadyRate + drainRate)) throw new Error('a backlog was gone before it could be measured');
  const [alone, during] = [await bench.waits(beforeMs, outageMs), await bench.waits(outageMs, drainedMs)];
  // Apart as well: while a CRM is down there is less to do for everybody, and while it drains there is more.
  const parts = { outage: await bench.waits(outageMs, backMs), drain: await bench.waits(backMs, drainedMs) };
  const shares = Object.entries(parts).map(([part, ms]) => `${part} alone ${at(ms, 0.99).toFixed(0)}`);
  const duplicates = (await bench.stats('broken')).duplicateEffects + (await bench.stats('steady')).duplicateEffects;
  console.error(
    `${hits} requests met the outage; drained ${((drainedMs - backMs) / 1_000).toFixed(1)} s after it; ${load.failed} posts failed`,
  );
  const size = `${perSecond} leads/s for each of two CRMs, one of which fails for ${outageSeconds} s`;
  return [
    {
      what: `drain of the backlog when the CRM is back, against that of a backlog without an outage; ${size}`,
      unit: 'leads/s',
      ours: drainRate,
      baseline: steadyRate,
      ratio: drainRate / steadyRate,
      goal: '>= 0.8',
      note: `CRM answers after ${crmLatencyMs} ms, ${concurrency} calls in flight; one sample; the outage met ${hits} requests`,
    },
    ...(['writer', 'intake'] as const).map((app) => ({
      what: `resident memory of ${app === 'writer' ? 'crm-writer' : app} in the outage and the drain, against before`,
      unit: 'MB',
      ours: memory[app],
      baseline: memoryBefore[app],
      ratio: memory[app] / memoryBefore[app],
      goal: '< 1.3',
    })),
    {
      what: "the other CRM's time (p99) from the call to intake to its arrival, outage and drain against before",
      unit: 'ms',
      ours: at(during, 0.99),
      baseline: at(alone, 0.99),
      ratio: at(during, 0.99) / at(alone, 0.99),
      goal: '<= 1.5',
      note: `p50 ${at(during, 0.5).toFixed(0)} against ${at(alone, 0.5).toFixed(0)}; p99 of the ${shares.join(', of the ')}; machine's load ${loadavg()[0]?.toFixed(1)}`,
    },
    { what: 'leads that a CRM has twice', unit: 'leads', ours: duplicates, goal: '0' },
  ];
}

const site = twoCrmSite();
const stack = await openStack({ config: site.file });
try {
  writeReport({ bench: 'drain', results: await measure(new TwoCrms(stack, perSecond)) });
} finally {
  await stack.close();
  site.remove();
}
