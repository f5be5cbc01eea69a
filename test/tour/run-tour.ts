import { pause } from '#testkit';
import { equalFacts, type Facts, showFacts } from './facts.js';
import type { RowId } from './row-ids.js';
import type { Lane, TourRow, UnderWay } from './tour-row.js';
import type { World } from './world.js';

export interface RowResult {
  id: RowId;
  fault: string;
  hits: number;
  expected: Facts;
  actual: Facts;
  ok: boolean;
}

export interface TourListener {
  began(row: TourRow): void;
  said(row: TourRow, text: string): void;
  ended(row: TourRow, result: RowResult): void;
}

const usualLimitMs = 60_000;
const betweenReadingsMs = 250;
/** For the second reading: a state may be told late, a second effect never goes away. */
const againLimitMs = 5_000;

/** What a row came to that could not be run: never green, whatever is expected. */
const notRun = (error: unknown): Facts => ({ not_run: error instanceof Error ? error.message : String(error) });

/** Runs the rows in their lanes, then reads each once more: what was right must still be right at the end. Results in the order of the rows. */
export async function runTour(world: World, rows: readonly TourRow[], listener: TourListener): Promise<RowResult[]> {
  const results = new Map<RowId, RowResult>();
  const underWay = new Map<RowId, UnderWay>();
  const runRow = async (row: TourRow): Promise<void> => {
    listener.began(row);
    results.set(row.id, await oneRow({ world, row, underWay, listener }));
    listener.ended(row, results.get(row.id) as RowResult);
  };
  const lane = (name: Lane): TourRow[] => rows.filter((row) => row.lane === name);
  const atOnce = (name: Lane) => Promise.all(lane(name).map(runRow));
  const inTurn = async (name: Lane) => {
    for (const row of lane(name)) await runRow(row);
  };
  await Promise.all([atOnce('leads'), inTurn('door'), inTurn('replay')]);
  await atOnce('crash');
  await inTurn('freeze');
  await inTurn('period');
  // A naive writer remembers nothing from before the kill; its earlier rows are judged by what they were then.
  const limitMs = Math.min(againLimitMs, world.patienceMs ?? againLimitMs);
  for (const row of world.against === 'naive' ? [] : rows) await readAgain({ row, begun: underWay.get(row.id), results, limitMs });
  return rows.map((row) => results.get(row.id) as RowResult);
}

interface OneRow {
  world: World;
  row: TourRow;
  underWay: Map<RowId, UnderWay>;
  listener: TourListener;
}

async function oneRow({ world, row, underWay, listener }: OneRow): Promise<RowResult> {
  const { id, fault, expected } = row;
  const name = `${world.run}-${id}`;
  try {
    const begun = await row.begin({ world, campaign: name, rule: name, say: (text) => listener.said(row, text) });
    underWay.set(id, begun);
    const actual = await readUntil(begun, expected, Math.min(row.limitMs ?? usualLimitMs, world.patienceMs ?? Number.POSITIVE_INFINITY));
    return judged({ id, fault, expected, actual, hits: await begun.hits() });
  } catch (error) {
    world.notComing(id);
    return judged({ id, fault, expected, actual: notRun(error), hits: 0 });
  }
}

/** A fault that nobody met shows nothing, so it is red. */
function judged(result: Omit<RowResult, 'ok'>): RowResult {
  return { ...result, ok: result.hits > 0 && equalFacts(result.expected, result.actual) };
}

/** Reads until the facts are as expected; the last ones when that does not happen in time. Throws when nothing could be read at all. */
async function readUntil(begun: UnderWay, expected: Facts, limitMs: number): Promise<Facts> {
  const giveUpAt = performance.now() + limitMs;
  let last: { facts?: Facts; error?: unknown } = {};
  do {
    last = await begun.read().then(
      (facts) => ({ facts }),
      (error: unknown) => ({ facts: last.facts, error }),
    );
    if (last.facts !== undefined && equalFacts(expected, last.facts) && (await begun.hits()) > 0) return last.facts;
    await pause(betweenReadingsMs);
  } while (performance.now() < giveUpAt);
  if (last.facts === undefined) throw last.error;
  return last.facts;
}

interface Again {
  row: TourRow;
  begun: UnderWay | undefined;
  results: Map<RowId, RowResult>;
  limitMs: number;
}

async function readAgain({ row, begun, results, limitMs }: Again): Promise<void> {
  const before = results.get(row.id);
  if (begun === undefined || before === undefined || !before.ok) return;
  const now = await readUntil(begun, row.expected, limitMs).catch(notRun);
  if (equalFacts(row.expected, now)) return;
  results.set(row.id, { ...before, actual: { ...now, earlier: showFacts(before.actual) }, ok: false });
}
