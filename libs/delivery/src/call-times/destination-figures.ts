import { z } from 'zod';
import type { Sql } from '#runtime';
import { type Percentiles, percentilesOf } from './buckets.js';
import { type CallPhase, callPhases } from './call-times.js';
import { type ReadUnclaimed, type UnclaimedUnknown, unclaimedFigures } from './unclaimed.js';

export const destinationFiguresRequest = z.object({});

/** Percentiles of one hour, which began at `at`: of whole calls, and of what was measured of their parts. */
export interface HourFigures extends Percentiles, Partial<Record<Exclude<CallPhase, 'total'>, Percentiles>> {
  at: string;
}

export interface DestinationFigures {
  destination: string;
  /** Deliveries that have not begun, or wait for another attempt. */
  waiting: number;
  held: number;
  uncertain: number;
  /** When the oldest of those that wait or are held was submitted; ISO 8601, as all times here. */
  oldest_at?: string;
  /**
   * Leads on the topic of the service that have no row yet, test leads included; `exact: false`: at most so many. `unknown`: why they cannot be
   * counted. Absent: the service's records never wait for a destination.
   */
  unclaimed?: { count: number; exact: boolean; oldest_at?: string } | { unknown: UnclaimedUnknown };
  /** Requests that the quota allows at once as of `quota_at`; absent: it was never drawn from. */
  quota_tokens?: number;
  quota_at?: string;
  /** Of the last 24 hours. Absent: not measured. */
  latency: Partial<Record<CallPhase, Percentiles>>;
  /** The oldest hour first. */
  by_hour: HourFigures[];
}

export interface DestinationFiguresAnswer {
  items: DestinationFigures[];
  /** The database's clock. */
  as_of: string;
}

export interface DestinationFiguresOptions {
  db: Sql;
  /** Name of the destination that a delivery's belongs to. */
  nameOf(destination: string): string;
  /** Absent: nothing lies unclaimed for one destination alone. */
  unclaimed?: ReadUnclaimed;
  /** How long an answer is given again, since counting a long backlog is not free; default 2,000. */
  keepMs?: number;
}

/** Index-only: by the two partial indexes that hold nothing finished. */
const countSql = `
SELECT destination, 'waiting' AS state, count(*)::int AS count FROM delivery WHERE state IN ('pending', 'waiting') GROUP BY destination
UNION ALL
SELECT destination, state, count(*)::int FROM delivery WHERE state IN ('uncertain', 'held') GROUP BY destination, state`;

const oldestSql = `
SELECT n.destination, o.submitted_at FROM unnest($1::text[]) AS n (destination),
  LATERAL (SELECT submitted_at FROM delivery d WHERE d.destination = n.destination AND state IN ('pending', 'waiting', 'held')
    ORDER BY submitted_at LIMIT 1) AS o`;

const timesSql = `
SELECT destination, phase, hour, array_agg(bucket::int ORDER BY bucket) AS buckets, array_agg(count::int ORDER BY bucket) AS counts
FROM call_time WHERE hour > clock_now() - interval '24 hours' GROUP BY destination, phase, hour ORDER BY hour`;

const quotaSql = `SELECT destination, quota_tokens, quota_at, clock_now() AS now FROM destination_state ORDER BY destination`;

interface CountRow {
  destination: string;
  state: 'waiting' | 'held' | 'uncertain';
  count: number;
}
interface TimesRow {
  destination: string;
  phase: CallPhase;
  hour: Date;
  buckets: number[];
  counts: number[];
}
interface QuotaRow {
  destination: string;
  quota_tokens: number | null;
  quota_at: Date | null;
  now: Date;
}

/**
 * Handler of POST /internal/v1/destinations:figures: for each destination of this service what waits for it, what lies unclaimed, what is left of its
 * quota, and how long its calls took. Whoever asks while it is counted gets the same answer.
 */
export function destinationFiguresRoute(options: DestinationFiguresOptions): () => Promise<DestinationFiguresAnswer> {
  const { keepMs = 2_000 } = options;
  let kept: { at: number; answer: Promise<DestinationFiguresAnswer> } | undefined;
  return () => {
    if (kept !== undefined && performance.now() - kept.at < keepMs) return kept.answer;
    const answer = readFigures(options);
    const mine = { at: performance.now(), answer };
    kept = mine;
    answer.catch(() => {
      if (kept === mine) kept = undefined;
    });
    return answer;
  };
}

async function readFigures({ db, nameOf, unclaimed: readUnclaimed }: DestinationFiguresOptions): Promise<DestinationFiguresAnswer> {
  // Before the rows: what is claimed meanwhile is for a moment counted twice, never not at all.
  const unclaimed = (await readUnclaimed?.()) ?? new Map();
  const counts = await db.sql<CountRow>('figures.count', countSql, []);
  const waiting = counts.filter(({ state }) => state !== 'uncertain').map(({ destination }) => destination);
  const oldest = await db.sql<{ destination: string; submitted_at: Date }>('figures.oldest', oldestSql, [[...new Set(waiting)]]);
  const times = await db.sql<TimesRow>('figures.times', timesSql, []);
  const quotas = await db.sql<QuotaRow>('figures.quota', quotaSql, []);
  const items = new Map<string, DestinationFigures>();
  const item = (destination: string): DestinationFigures => {
    const found = items.get(destination) ?? { destination, waiting: 0, held: 0, uncertain: 0, latency: {}, by_hour: [] };
    items.set(destination, found);
    return found;
  };
  for (const row of quotas) {
    const found = item(row.destination);
    if (row.quota_tokens !== null) Object.assign(found, { quota_tokens: row.quota_tokens, quota_at: row.quota_at?.toISOString() });
  }
  for (const { destination, state, count } of counts) item(nameOf(destination))[state] += count;
  for (const { destination, submitted_at } of oldest) {
    const found = item(nameOf(destination));
    const at = submitted_at.toISOString();
    if (found.oldest_at === undefined || at < found.oldest_at) found.oldest_at = at;
  }
  for (const destination of new Set(times.map((row) => row.destination))) {
    Object.assign(item(destination), latencyOf(times.filter((row) => row.destination === destination)));
  }
  for (const [destination, leads] of unclaimed) item(destination).unclaimed = unclaimedFigures(leads);
  return { items: [...items.values()], as_of: (quotas[0]?.now ?? new Date()).toISOString() };
}

function latencyOf(rows: readonly TimesRow[]): Pick<DestinationFigures, 'latency' | 'by_hour'> {
  const of = (phase: CallPhase) => rows.filter((row) => row.phase === phase);
  return {
    latency: measured(callPhases, (phase) => of(phase)),
    by_hour: of('total').flatMap((row) => {
      const percentiles = percentilesOf(together([row]));
      const sameHour = (phase: CallPhase) => of(phase).filter(({ hour }) => hour.getTime() === row.hour.getTime());
      return percentiles === undefined ? [] : [{ at: row.hour.toISOString(), ...percentiles, ...measured(callParts, sameHour) }];
    }),
  };
}

const callParts = callPhases.filter((phase) => phase !== 'total');

/** Phases of which there is nothing are left out. */
function measured(phases: readonly CallPhase[], rowsOf: (phase: CallPhase) => readonly TimesRow[]): DestinationFigures['latency'] {
  const all = phases.map((phase) => [phase, percentilesOf(together(rowsOf(phase)))] as const);
  return Object.fromEntries(all.filter(([, percentiles]) => percentiles !== undefined));
}

function together(rows: readonly TimesRow[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { buckets, counts: counted } of rows) {
    for (const [index, bucket] of buckets.entries()) counts.set(bucket, (counts.get(bucket) ?? 0) + (counted[index] ?? 0));
  }
  return counts;
}
