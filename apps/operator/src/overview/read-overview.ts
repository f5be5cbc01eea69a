import { z } from 'zod';
import type { OpenFigure } from '#delivery';
import type { Sql } from '#runtime';
import { batchReport, listBatches } from '../batches/read-batches.js';
import type { Person } from '../people/person.js';
import { readFigures, reconciliationFigures } from '../reconciliation/keep-figures.js';
import { balanceEveryS, readBalance } from './keep-balance.js';
import { type LetterFigure, letterFigures } from './letter-figures.js';
import { readSamples, type StoredSample } from './samples.js';

const batches = 5;
const count = z.number();
const age = z.number().nullable();

export const overviewAnswer = z.object({
  as_of: z.date(),
  sampled_at: z.date().nullable().describe('When the services were last asked for what is under way; null: not within the last hour.'),
  counts: z
    .array(z.object({ destination: z.string(), state: z.string(), count }))
    .describe('`unclaimed`: on the topic, taken up by nobody yet, without test leads; absent also where nobody can say.'),
  oldest: z.array(z.object({ destination: z.string(), state: z.string(), age_ms: age })),
  balance: z
    .object({
      balanced: z.boolean(),
      as_of: z.string(),
      accepted: count,
      delivered: count,
      open: count,
      dead: count,
      expired: count,
      discarded: count,
      erased: count,
      unaccounted: count,
    })
    .nullable()
    .describe('As last taken; null: not yet, or not for somebody who may not see all organizations.'),
  backlog: z
    .array(
      z.object({
        at: z.date(),
        waiting: count.nullable(),
        held: count.nullable(),
        unclaimed: count.nullable().describe('On the topic, taken up by nobody yet.'),
        dead: count,
        open: count.nullable(),
        oldest_age_ms: age,
      }),
    )
    .describe('Each minute of the last hour; null: a service did not answer, or nobody could say what lies unclaimed.'),
  time_to_write: z
    .array(z.object({ at: z.string(), measured: count, p50: count, p95: count, p99: count }))
    .describe('Milliseconds from submission until the destination had it, by the hour of acceptance.'),
  not_yet: z
    .object({ balance: z.date().optional(), time_to_write: z.date().optional() })
    .optional()
    .describe('When what is not there yet is taken next. Absent where all is there, and for somebody who may not see all organizations.'),
  work_by_owner: z.array(z.object({ owner: z.string(), open: count, overdue: count, oldest_age_ms: age })),
  reconciliation: reconciliationFigures
    .nullable()
    .describe('What differs at destinations, as last counted; null: not yet, or nothing is compared here.'),
  recent_batches: z.array(batchReport),
});
export type Overview = z.infer<typeof overviewAnswer>;

/**
 * How things are, from this service's own tables: it answers also while others do not. What cannot be told apart by organization only
 * those see who may see all.
 */
export async function readOverview(db: Sql, person: Person): Promise<Overview> {
  const [clock] = await db.sql<{ now: Date }>('operator.now', 'SELECT clock_now() AS now', []);
  const letters = await letterFigures(db, person);
  const all = person.organizations === '*';
  const { samples, times } = all ? await readSamples(db) : { samples: [], times: [] };
  const { items: recent_batches } = await listBatches(db, { limit: batches }, person);
  const balance = all ? await readBalance(db) : null;
  const asOf = clock?.now ?? new Date();
  const figures = [...openOf(samples.at(-1)), ...letters.filter(({ state }) => !all || state !== 'uncertain').map(named)];
  return {
    as_of: asOf,
    sampled_at: samples.at(-1)?.at ?? null,
    ...byDestination(figures),
    balance,
    backlog: samples.map(toPoint),
    time_to_write: times,
    ...(all && notYet(asOf, { balance, times })),
    work_by_owner: byOwner(letters),
    reconciliation: await readFigures(db, person),
    recent_batches,
  };
}

/** A sample is taken in the first seconds of a minute. */
function notYet(
  asOf: Date,
  { balance, times }: { balance: Overview['balance']; times: Overview['time_to_write'] },
): Pick<Overview, 'not_yet'> {
  if (balance !== null && times.length > 0) return {};
  const nextMinute = new Date(Math.ceil((asOf.getTime() + 1) / 60_000) * 60_000);
  const nextBalance = new Date(asOf.getTime() + balanceEveryS * 1_000);
  return { not_yet: { ...(balance === null && { balance: nextBalance }), ...(times.length === 0 && { time_to_write: nextMinute }) } };
}

const named = ({ destination, ...figure }: LetterFigure): OpenFigure => ({ ...figure, destination: destination ?? 'none' });
const openOf = (stored: StoredSample | undefined): OpenFigure[] => Object.values(stored?.sample.open ?? {}).flatMap((open) => open ?? []);

function byDestination(figures: readonly OpenFigure[]): Pick<Overview, 'counts' | 'oldest'> {
  const sums = new Map<string, OpenFigure>();
  for (const figure of figures) {
    const key = `${figure.destination} ${figure.state}`;
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, { ...figure });
    else Object.assign(sum, { count: sum.count + figure.count, age_ms: Math.max(sum.age_ms, figure.age_ms) });
  }
  const all = [...sums.values()];
  return {
    counts: all.map(({ destination, state, count: some }) => ({ destination, state, count: some })),
    oldest: all.map(({ destination, state, age_ms }) => ({ destination, state, age_ms })),
  };
}

function toPoint({ at, sample }: StoredSample): Overview['backlog'][number] {
  const known = Object.values(sample.open).every((open) => open !== null);
  const open = openOf({ at, sample });
  const whole = known && sample.unclaimed_unknown !== true;
  const dead = sum(sample.letters.filter(({ state }) => state !== 'uncertain'));
  const ages = [...open, ...sample.letters].map(({ age_ms }) => age_ms);
  return {
    at,
    waiting: known ? sum(open.filter(({ state }) => state === 'waiting' || state === 'pending')) : null,
    held: known ? sum(open.filter(({ state }) => state === 'held')) : null,
    unclaimed: whole ? sum(open.filter(({ state }) => state === 'unclaimed')) : null,
    dead,
    open: whole ? sum(open) + dead : null,
    oldest_age_ms: ages.length === 0 ? null : Math.max(...ages),
  };
}

const sum = (figures: readonly { count: number }[]): number => figures.reduce((total, { count: some }) => total + some, 0);

function byOwner(letters: readonly LetterFigure[]): Overview['work_by_owner'] {
  const owners = new Map<string, Overview['work_by_owner'][number]>();
  for (const { owner, count: some, overdue, age_ms } of letters) {
    const work = owners.get(owner) ?? { owner, open: 0, overdue: 0, oldest_age_ms: 0 };
    owners.set(owner, {
      owner,
      open: work.open + some,
      overdue: work.overdue + overdue,
      oldest_age_ms: Math.max(work.oldest_age_ms ?? 0, age_ms),
    });
  }
  return [...owners.values()];
}
