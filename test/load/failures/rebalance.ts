import { eventually, pause } from '#testkit';
import { at } from '../../support/tier-lateness.js';
import { marks } from '../crm-writer/stand-ins.js';
import { WriterWorld } from '../crm-writer/writer-world.js';
import { type BenchResult, median } from '../report.js';
import { TierWatch, withoutSweeper } from './tier-watch.js';

/** Asked for with `Retry-After`; each lead waits up to a second more. */
const waitS = 30;
/** From the first refusal: a second crm-writer is started and ended while all of them wait. */
const joinsAtMs = 5_000;
const leavesAtMs = 20_000;

interface Run {
  least: number;
  p50: number;
  p99: number;
  max: number;
}

async function run(world: WriterWorld, watch: TierWatch, records: number): Promise<Run> {
  await world.sql('TRUNCATE crm_writer.delivery, crm_writer.operation, crm_writer.attempt');
  world.send({ kind: 'set', latencyMs: 0, marked: true, retryAfterS: waitS });
  world.send({ kind: 'vault', open: true });
  world.send({ kind: 'reset' });
  await world.produce(records, marks.lockedOnce);
  await eventually('every lead to be refused', async () => (await world.report()).requests === records);
  const { firstAt } = await world.report();
  await pause(firstAt + joinsAtMs - Date.now());
  const second = await world.join();
  await pause(firstAt + leavesAtMs - Date.now());
  const { requests } = await world.report();
  withoutSweeper(await second.sweeperWakeups());
  await second.stop();
  if (requests !== records) throw new Error(`${requests - records} leads did not wait any more when the second crm-writer left`);
  await world.quiet(2 * records);
  withoutSweeper(await world.writer.sweeperWakeups());
  const late = await watch.lateness();
  return { least: late[0] ?? Number.NaN, p50: at(late, 0.5), p99: at(late, 0.99), max: at(late, 1) };
}

/** How long after its time a second attempt is made where a member joins the group and leaves it again during the wait. */
export async function rebalance(records: number, rounds: number): Promise<BenchResult> {
  const world = await WriterWorld.start({ operations: ['lead'], concurrency: 64, settings: ['retry_budget: 1'] });
  const watch = await TierWatch.start(world);
  const runs: Run[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const one = await run(world, watch, records);
    console.error(
      `${round === 0 ? 'warm-up' : `round ${round}`}: second attempts p50 ${one.p50.toFixed(1)} ms, p99 ${one.p99.toFixed(1)} ms, max ${one.max.toFixed(1)} ms after their time, over two rebalances`,
    );
    if (one.least < 0) throw new Error(`an attempt was made ${-one.least} ms early`);
    if (round > 0) runs.push(one);
  }
  await watch.stop();
  await world.close();
  const middle = (of: keyof Run): string => median(runs.map((one) => one[of])).toFixed(1);
  return {
    what: `lateness (p99) of the second attempts of ${records} leads that wait ${waitS} s, while a second crm-writer joins after ${joinsAtMs / 1_000} s and leaves after ${leavesAtMs / 1_000} s`,
    unit: 'ms',
    ours: median(runs.map(({ p99 }) => p99)),
    goal: '<= 1,000',
    note: `p50 ${middle('p50')}, max ${middle('max')}; none early; the sweeper woke none`,
    samples: { ours: runs.map(({ p99 }) => p99) },
  };
}
