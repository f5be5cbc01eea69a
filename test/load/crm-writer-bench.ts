import { buildPeer, type PeerBuild } from './crm-writer/build-peer.js';
import { claimRowsBench } from './crm-writer/claim-rows.js';
import type { SpringPeer } from './crm-writer/spring-peer.js';
import { WriterWorld } from './crm-writer/writer-world.js';
import { type BenchResult, median, writeReport } from './report.js';

/**
 * How fast a real crm-writer process drains accepted leads into a CRM, and what each costs it in CPU: with every guarantee on (claim rows,
 * vault read, lease, signed call, attempt log, announcement through the outbox). The CRM and the vault are stand-ins in one process of
 * their own. With the single operation, the Spring Kafka batch service of test/load/spring-peer drains the same leads in turn.
 * Sizes: BENCH_LEADS (default 20,000), BENCH_ROUNDS (default 5), BENCH_CONCURRENCY (default 256), BENCH_CLAIMS
 * (records of the consumer with claim rows, default 100,000; 0: none), BENCH_LINES (1: the single operation alone).
 */
const leads = Number(process.env.BENCH_LEADS ?? 20_000);
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const concurrency = Number(process.env.BENCH_CONCURRENCY ?? 256);
const claims = Number(process.env.BENCH_CLAIMS ?? 100_000);
const latenciesMs = (process.env.BENCH_LATENCIES ?? '0,20').split(',').map(Number);

interface Line {
  name: string;
  operations: string[];
  /** Has a peer to be compared with. */
  compared: boolean;
}

const allLines: Line[] = [
  { name: 'the single operation `lead`', operations: ['lead'], compared: true },
  { name: 'the operations `contact` and `lead`', operations: ['contact', 'lead'], compared: false },
];
const lines = allLines.slice(0, Number(process.env.BENCH_LINES ?? allLines.length));

interface Sample {
  leadsPerSecond: number;
  cpuMsPerLead: number;
}

/** What is drained, and how. */
interface Drain {
  name: string;
  world: WriterWorld;
  latencyMs: number;
  cpuSeconds: () => number;
  begin: () => void;
  drained: () => Promise<void>;
}

/** The clock runs from the CRM's first answer to its last; CPU is counted until all is recorded. */
async function timed({ name, world, latencyMs, cpuSeconds, begin, drained }: Drain): Promise<Sample> {
  world.send({ kind: 'reset' });
  const cpuBefore = cpuSeconds();
  begin();
  await drained();
  const cpuMsPerLead = ((cpuSeconds() - cpuBefore) * 1_000) / leads;
  const { firstAt, lastAt, requests, repeats, maxInFlight } = await world.report();
  const leadsPerSecond = (leads * 1_000) / (lastAt - firstAt);
  console.error(
    `${name}, ${latencyMs} ms: ${Math.round(leadsPerSecond)} leads/s, ${cpuMsPerLead.toFixed(3)} ms CPU per lead, ${requests} calls, ${maxInFlight} in flight, ${repeats} repeats`,
  );
  return { leadsPerSecond, cpuMsPerLead };
}

/** Puts leads on the topic, which `before` leads went through already, and lets crm-writer drain them, then the peer. */
async function round(world: WriterWorld, { peer, latencyMs, before }: { peer?: SpringPeer; latencyMs: number; before: number }) {
  world.send({ kind: 'vault', open: false });
  world.send({ kind: 'set', latencyMs });
  await world.produce(leads);
  console.error(`${(await world.taken()) - before} of ${leads} leads taken by crm-writer before its clock runs`);
  const ours = await timed({
    name: 'crm-writer',
    world,
    latencyMs,
    cpuSeconds: () => world.writer.cpuSeconds(),
    begin: () => world.send({ kind: 'vault', open: true }),
    drained: () => world.drained(before + leads),
  });
  if (peer === undefined) return { ours };
  const theirs = await timed({
    name: 'Spring Kafka',
    world,
    latencyMs,
    cpuSeconds: () => peer.cpuSeconds(),
    begin: () => peer.resume(),
    drained: () => world.peerDrained(before + leads),
  });
  await peer.pause();
  return { ours, theirs };
}

/** Of one latency, without the warm-up: both virtual machines compile what is hot in it. */
interface Samples {
  latencyMs: number;
  ours: Sample[];
  theirs: Sample[];
}

async function measure(line: Line, build: PeerBuild): Promise<BenchResult[]> {
  const world = await WriterWorld.start({ operations: line.operations, concurrency });
  await world.writer.ready();
  const peer = line.compared && 'peer' in build ? await world.joinPeer(build.peer) : undefined;
  const all = latenciesMs.map((latencyMs): Samples => ({ latencyMs, ours: [], theirs: [] }));
  let before = 0;
  for (let at = 0; at <= rounds; at += 1) {
    for (const { latencyMs, ours, theirs } of all) {
      const samples = await round(world, { peer, latencyMs, before });
      before += leads;
      if (at === 0) continue;
      ours.push(samples.ours);
      if (samples.theirs !== undefined) theirs.push(samples.theirs);
    }
  }
  await peer?.stop();
  await world.close();
  const opponent = 'missing' in build ? `no baseline: ${build.missing}` : `on ${peer?.runtime}`;
  return all.flatMap((samples) => results(samples, line, opponent));
}

const rates = (samples: readonly Sample[]): number[] => samples.map(({ leadsPerSecond }) => leadsPerSecond);
const costs = (samples: readonly Sample[]): number[] => samples.map(({ cpuMsPerLead }) => cpuMsPerLead);

function results({ latencyMs, ours, theirs }: Samples, { name, compared }: Line, opponent: string): BenchResult[] {
  const what = `crm-writer drains ${leads} leads, ${name}, CRM answers after ${latencyMs} ms, ${concurrency} calls in flight`;
  const note = 'vault and CRM are stand-ins on the same cores';
  const rate: BenchResult = { what, unit: 'leads/s', ours: median(rates(ours)), note, samples: { ours: rates(ours) } };
  const cost = { what: `${what}: CPU of the writer`, unit: 'ms per lead', ours: median(costs(ours)), goal: '<= 0.3', note };
  const compare = (): BenchResult => ({
    ...rate,
    what: `${what}, against a Spring Kafka batch service`,
    goal: '>= 2',
    ...(theirs.length === 0 ? { note: `${opponent}; ${note}` } : against(theirs, { ours: rate.ours, opponent })),
    samples: { ours: rates(ours), baseline: rates(theirs) },
  });
  return [compared ? compare() : rate, { ...cost, samples: { ours: costs(ours) } }];
}

function against(theirs: readonly Sample[], { ours, opponent }: { ours: number; opponent: string }): Partial<BenchResult> {
  const baseline = median(rates(theirs));
  const note = `the peer (${opponent}): ${median(costs(theirs)).toFixed(2)} ms CPU per lead; it reads no vault, signs nothing, has no leases, attempt log, retry tiers, dead letters, metrics or traces, and publishes nothing itself; CRM and vault are stand-ins on the same cores`;
  return { baseline, ratio: ours / baseline, note };
}

const all: BenchResult[] = [];
if (claims > 0) all.push(await claimRowsBench(claims, rounds));
const build = buildPeer();
for (const line of lines) all.push(...(await measure(line, build)));
writeReport({ bench: 'crm-writer', partial: claims === 0 || lines.length < allLines.length, results: all });
