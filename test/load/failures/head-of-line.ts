import { marks } from '../crm-writer/stand-ins.js';
import { WriterWorld } from '../crm-writer/writer-world.js';
import { type BenchResult, median } from '../report.js';

/** Refused at once, and locked until its attempts run out: half of the poison each. */
const poison = 100;
const latencyMs = 20;
const attempts = 4;

/** From the first call to the last answer of a good lead, in milliseconds. */
async function run(world: WriterWorld, { good, poisoned }: { good: number; poisoned: boolean }): Promise<number> {
  world.send({ kind: 'vault', open: false });
  world.send({ kind: 'set', latencyMs, marked: true });
  world.send({ kind: 'reset' });
  if (poisoned) for (const mark of [marks.refused, marks.locked]) await world.produce(poison / 2, mark);
  await world.produce(good);
  world.send({ kind: 'vault', open: true });
  await world.quiet(good + (poisoned ? (poison / 2) * (1 + attempts) : 0));
  const { firstAt, lastGoodAt } = await world.report();
  return lastGoodAt - firstAt;
}

/** Leads that fail come first on every partition: how much later the last good one behind them is done. */
export async function headOfLine(good: number, rounds: number): Promise<BenchResult> {
  const world = await WriterWorld.start({ operations: ['lead'], concurrency: 64, settings: ['backoff: { base: 1s, cap: 10s }'] });
  const samples = { ours: [] as number[], baseline: [] as number[] };
  for (let round = 0; round <= rounds; round += 1) {
    const baseline = await run(world, { good, poisoned: false });
    const ours = await run(world, { good, poisoned: true });
    console.error(`${round === 0 ? 'warm-up' : `round ${round}`}: last good lead after ${ours} ms, none poisoned ${baseline} ms`);
    if (round === 0) continue;
    samples.ours.push(ours);
    samples.baseline.push(baseline);
  }
  await world.close();
  return {
    what: `time to the last of ${good} good leads behind ${poison} that fail, CRM answers after ${latencyMs} ms, 64 calls in flight`,
    unit: 'ms',
    ours: median(samples.ours),
    baseline: median(samples.baseline),
    ratio: median(samples.baseline) / median(samples.ours),
    goal: '>= 0.67',
    note: `half refused with 422, half answered 423 at each of ${attempts} attempts; the baseline has none of them`,
    samples,
  };
}
