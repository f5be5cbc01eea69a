import type { FiguresAnswer, HourFigure, OpenFigure } from '#delivery';
import type { InternalClient, Logger, Sql } from '#runtime';
import { type LetterFigure, letterFigures } from './letter-figures.js';

/** How much was where at a minute. */
export interface Sample {
  /** By service; null: it did not answer. */
  open: Record<string, OpenFigure[] | null>;
  letters: LetterFigure[];
  /** A service could not say of every destination what lies unclaimed on its topic. */
  unclaimed_unknown?: boolean;
  /** Of the last day; taken every few minutes, and every minute until there are some. */
  times?: HourFigure[];
}

export interface StoredSample {
  at: Date;
  sample: Sample;
}

export interface SampleTools {
  db: Sql;
  /** Services that own deliveries, by name. */
  clients: ReadonlyMap<string, Pick<InternalClient, 'post'>>;
  logger: Logger;
}

/** Whose deliveries are the leads themselves. */
const writer = 'crm-writer';
const timesEveryMinutes = 5;

const thisMinuteSql = `
SELECT date_trunc('minute', clock_now()) AS at, EXISTS (SELECT FROM overview_sample WHERE at = date_trunc('minute', clock_now())) AS taken,
  (SELECT max(at) < date_trunc('minute', clock_now()) - interval '${timesEveryMinutes - 1} minutes' FROM overview_sample
    WHERE sample ? 'times' AND sample->'times' <> '[]') AS late`;
const storeSql = 'INSERT INTO overview_sample (at, sample) VALUES ($1, $2::jsonb) ON CONFLICT DO NOTHING';
const purgeSql = "DELETE FROM overview_sample WHERE at < clock_now() - interval '1 day'";

/** Takes this minute's sample, unless it is there: of several processes one is kept. What does not answer is a gap. Rejects with DatabaseUnavailable. */
export async function takeSample({ db, clients, logger }: SampleTools): Promise<void> {
  const [minute] = await db.sql<{ at: Date; taken: boolean; late: boolean | null }>('operator.sample_minute', thisMinuteSql, []);
  if (minute === undefined || minute.taken) return;
  const open: Sample['open'] = {};
  let times: HourFigure[] | undefined;
  let unclaimedUnknown = false;
  for (const [service, client] of clients) {
    const withTimes = service === writer && minute.late !== false;
    try {
      const figures = await client.post<FiguresAnswer>('/internal/v1/deliveries:figures', { times: withTimes });
      open[service] = figures.open;
      unclaimedUnknown ||= (figures.unclaimed_unknown ?? []).length > 0;
      if (withTimes) times = figures.times;
    } catch (err) {
      open[service] = null;
      logger.warn({ err, component: service }, 'What is open could not be counted');
    }
  }
  const letters = await letterFigures(db, { organizations: '*' });
  const sample: Sample = { open, letters, ...(unclaimedUnknown && { unclaimed_unknown: true }), ...(times && { times }) };
  await db.sql('operator.store_sample', storeSql, [minute.at, JSON.stringify(sample)]);
  await db.sql('operator.purge_samples', purgeSql, []);
}

const lastSql = `
SELECT at, sample - 'times' AS sample FROM overview_sample WHERE at > clock_now() - interval '1 hour' ORDER BY at DESC LIMIT 60`;
const timesSql = "SELECT sample->'times' AS times FROM overview_sample WHERE sample ? 'times' ORDER BY at DESC LIMIT 1";

/** Samples of the last hour, the oldest first, and how long leads took in each hour of the last day. */
export async function readSamples(db: Sql): Promise<{ samples: StoredSample[]; times: HourFigure[] }> {
  const samples = await db.sql<StoredSample>('operator.last_samples', lastSql, []);
  const [last] = await db.sql<{ times: HourFigure[] }>('operator.last_times', timesSql, []);
  return { samples: samples.reverse(), times: last?.times ?? [] };
}
