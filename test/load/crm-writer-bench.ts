import { claimRowsBench } from './crm-writer/claim-rows.js';
import { WriterWorld } from './crm-writer/writer-world.js';
import { type BenchResult, median, writeReport } from './report.js';

/**
 * How fast a real crm-writer process drains accepted leads into a CRM, and what each costs it in CPU: with every guarantee on (claim rows,
 * vault read, lease, signed call, attempt log, announcement through the outbox). The CRM and the vault are stand-ins in one process of
 * their own. Sizes: BENCH_LEADS (default 20,000), BENCH_ROUNDS (default 5), BENCH_CONCURRENCY (default 256), BENCH_CLAIMS
 * (records of the consumer with claim rows, default 100,000).
 */
const leads = Number(process.env.BENCH_LEADS ?? 20_000);
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const concurrency = Number(process.env.BENCH_CONCURRENCY ?? 256);
const claims = Number(process.env.BENCH_CLAIMS ?? 100_000);
const latenciesMs = (process.env.BENCH_LATENCIES ?? '0,20').split(',').map(Number);
const lines: [name: string, operations: string[]][] = [
  ['the single operation `lead`', ['lead']],
  ['the operations `contact` and `lead`', ['contact', 'lead']],
];

interface Sample {
  leadsPerSecond: number;
  cpuMsPerLead: number;
}

async function drain(world: WriterWorld, latencyMs: number, before: number): Promise<Sample> {
  world.send({ kind: 'vault', open: false });
  world.send({ kind: 'set', latencyMs });
  await world.produce(leads);
  world.send({ kind: 'reset' });
  const cpuBefore = world.cpuSeconds();
  world.send({ kind: 'vault', open: true });
  await world.drained(before + leads);
  const cpuSeconds = world.cpuSeconds() - cpuBefore;
  const { firstAt, lastAt, repeats, maxInFlight } = await world.report();
  const sample = { leadsPerSecond: (leads * 1_000) / (lastAt - firstAt), cpuMsPerLead: (cpuSeconds * 1_000) / leads };
  console.error(
    `${latencyMs} ms: ${Math.round(sample.leadsPerSecond)} leads/s, ${sample.cpuMsPerLead.toFixed(3)} ms CPU per lead, ${maxInFlight} in flight, ${repeats} repeats, ${Math.round(world.residentMb())} MB`,
  );
  return sample;
}

async function measure([name, operations]: [string, string[]]): Promise<BenchResult[]> {
  const world = await WriterWorld.start({ operations, concurrency });
  const samples = new Map<number, Sample[]>(latenciesMs.map((latencyMs) => [latencyMs, []]));
  let before = 0;
  for (let round = 0; round <= rounds; round += 1) {
    for (const latencyMs of latenciesMs) {
      const sample = await drain(world, latencyMs, before);
      before += leads;
      if (round > 0) samples.get(latencyMs)?.push(sample);
    }
  }
  await world.close();
  return latenciesMs.flatMap((latencyMs) => results(name, latencyMs, samples.get(latencyMs) ?? []));
}

function results(name: string, latencyMs: number, samples: readonly Sample[]): BenchResult[] {
  const what = `crm-writer drains ${leads} leads, ${name}, CRM answers after ${latencyMs} ms, ${concurrency} calls in flight`;
  const rates = samples.map(({ leadsPerSecond }) => leadsPerSecond);
  const costs = samples.map(({ cpuMsPerLead }) => cpuMsPerLead);
  const note = 'vault and CRM are stand-ins on the same cores';
  return [
    { what, unit: 'leads/s', ours: median(rates), note, samples: { ours: rates } },
    { what: `${what}: CPU of the writer`, unit: 'ms per lead', ours: median(costs), goal: '<= 0.3', note, samples: { ours: costs } },
  ];
}

const all: BenchResult[] = [];
if (claims > 0) all.push(await claimRowsBench(claims, rounds));
for (const line of lines.slice(0, Number(process.env.BENCH_LINES ?? lines.length))) all.push(...(await measure(line)));
writeReport({ bench: 'crm-writer', results: all });
