import { setTimeout as delay } from 'node:timers/promises';
import { type Coalescer, coalesce } from '#runtime';
import type { DatabaseAway } from './database-away.js';
import { isConflict, isDataError } from './errors.js';

/** Items of one statement at most. */
export const statementRows = 256;

export interface SqlBatchOptions<I, O> {
  /** Default `statementRows`. */
  maxBatch?: number;
  /** Statements under way at once; default 2. */
  maxInFlight?: number;
  /** One multi-row statement; one result per item, in order. */
  run(items: I[]): Promise<O[]>;
  /** The database refuses this one item as data. */
  refused(item: I, error: unknown): O | Error;
  away: DatabaseAway;
}

/**
 * Coalesces single rows into multi-row statements. A deadlock is run again; a data error is halved down to the row at fault, which alone
 * fails; anything else is taken for the database being away and tried until it is back.
 */
export function sqlBatch<I, O>(options: SqlBatchOptions<I, O>): Coalescer<I, O> {
  const { maxBatch = statementRows, maxInFlight = 2 } = options;
  return coalesce<I, O>({ maxBatch, maxInFlight, maxWaitMs: 0, run: (items) => runAll(options, items) });
}

async function runAll<I, O>(options: SqlBatchOptions<I, O>, items: I[]): Promise<(O | Error)[]> {
  for (let round = 1; ; round++) {
    try {
      const results = await options.run(items);
      options.away.answered();
      return results;
    } catch (error) {
      if (isDataError(error)) return halve(options, items, error);
      if (isConflict(error) && round < 20) await delay(Math.random() * 10 * round);
      else await options.away.wait(error);
    }
  }
}

async function halve<I, O>(options: SqlBatchOptions<I, O>, items: I[], error: unknown): Promise<(O | Error)[]> {
  const [only] = items;
  if (items.length === 1 && only !== undefined) return [options.refused(only, error)];
  const middle = Math.ceil(items.length / 2);
  const first = await runAll(options, items.slice(0, middle));
  return [...first, ...(await runAll(options, items.slice(middle)))];
}
