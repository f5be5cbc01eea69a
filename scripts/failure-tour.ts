// `npm run failure-tour`: breaks everything that can break around a lead and shows what becomes of it. Ends with 1 when any row is red or
// the books do not balance, with 2 on a wrong command line.
import { writeFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startStack } from '#testkit';
import { openDeliveryWorld } from '../test/tour/delivery-world.js';
import { openNaiveWorld } from '../test/tour/naive-world.js';
import { closing, paintsFor, progress, resultTable } from '../test/tour/print.js';
import { tourRows } from '../test/tour/rows/index.js';
import { runTour } from '../test/tour/run-tour.js';
import type { TourRow } from '../test/tour/tour-row.js';
import type { BalanceReport, World } from '../test/tour/world.js';

const usage = `npm run failure-tour -- [options]
  --run-dir DIR     tour the instance that runs there (default: one of its own, stopped at the end)
  --rows ID,ID      only these rows
  --against naive   the same rows on a writer that retries until it succeeds, and does nothing else
  --json FILE       write [{id, fault, hits, expected, actual, ok}]`;

interface TourOptions {
  runDir?: string;
  json?: string;
  naive: boolean;
  rows: TourRow[];
}

// npm runs scripts in the project's folder and keeps the caller's in INIT_CWD.
const fromCaller = (path: string): string => (isAbsolute(path) ? path : resolve(process.env.INIT_CWD ?? process.cwd(), path));

/** Throws with the words for whoever typed it. */
function tourOptions(args: string[]): TourOptions {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ args, options: { 'run-dir': text, rows: text, against: text, json: text }, strict: true });
  if (values.against !== undefined && values.against !== 'naive') throw new Error('--against takes naive');
  const wanted = values.rows?.split(',');
  const rows = tourRows().filter(({ id }) => wanted === undefined || wanted.includes(id));
  const unknown = wanted?.filter((id) => !rows.some((row) => row.id === id)) ?? [];
  if (unknown.length > 0) throw new Error(`no such row: ${unknown.join(', ')}`);
  return {
    ...(values['run-dir'] !== undefined && { runDir: fromCaller(values['run-dir']) }),
    ...(values.json !== undefined && { json: fromCaller(values.json) }),
    naive: values.against === 'naive',
    rows,
  };
}

/** The world to tour, and how it is left. */
async function openWorld({ runDir, naive, rows }: TourOptions): Promise<{ world: World; leave(): Promise<void> }> {
  const crashRows = rows.filter(({ lane }) => lane === 'crash').map(({ id }) => id);
  if (naive) {
    const world = await openNaiveWorld(crashRows);
    return { world, leave: () => world.close() };
  }
  if (runDir === undefined) console.log('Starting an instance for the tour (half a minute) …');
  const stack = runDir === undefined ? await startStack() : undefined;
  const world = await openDeliveryWorld(stack?.runDir ?? runDir ?? '', crashRows).catch(async (error: Error) => {
    await stack?.stop();
    throw error;
  });
  return {
    world,
    leave: async () => {
      await world.close();
      await stack?.stop();
    },
  };
}

async function tour(options: TourOptions): Promise<boolean> {
  const paints = paintsFor(process.stdout.isTTY);
  const { world, leave } = await openWorld(options);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void leave().finally(() => process.exit(1)));
  try {
    console.log(
      `\nFailure tour of ${options.rows.length} rows, ${world.against === 'naive' ? 'against a naive writer' : `run ${world.run}`}\n`,
    );
    const results = await runTour(
      world,
      options.rows,
      progress((line) => console.log(line), paints),
    );
    const balance = await world
      .balance()
      .catch((error: Error): BalanceReport => ({ balanced: false, summary: `it could not be taken: ${error.message}` }));
    if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
    console.log(`\n${resultTable(results, paints).join('\n')}\n\n${closing(results, balance, paints).join('\n')}`);
    return balance.balanced && results.every(({ ok }) => ok);
  } finally {
    await leave();
  }
}

let options: TourOptions | undefined;
try {
  options = tourOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${(error as Error).message}\n\n${usage}`);
  process.exitCode = 2;
}
if (options !== undefined) {
  const green = await tour(options).catch((error: Error) => {
    console.error(`The tour could not be held: ${error.message}`);
    return false;
  });
  // Connections of the world may linger; the verdict is final.
  process.exit(green ? 0 : 1);
}
