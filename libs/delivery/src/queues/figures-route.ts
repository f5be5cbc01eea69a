import { z } from 'zod';
import { firstEventId, type Sql } from '#runtime';
import type { ReadUnclaimed, Unclaimed } from '../call-times/index.js';
import { blockedDestinations, gateColumn } from './blocked-rows.js';

export const figuresRequest = z.strictObject({
  /** How long leads of the last day took; default false: only what is open is counted. */
  times: z.boolean().default(false),
});
export type FiguresRequest = z.infer<typeof figuresRequest>;

export interface OpenFigure {
  /** A destination, or the channel of notifications. */
  destination: string;
  /** `held` counts also what waits for a destination that nothing is sent to; `unclaimed` lies on the topic and has no row yet. */
  state: string;
  count: number;
  /** Since the oldest lead among them was submitted. */
  age_ms: number;
}

/** Milliseconds from submission until the destination had it, of the leads that were accepted in an hour. */
export interface HourFigure {
  /** Begin of the hour, ISO 8601. */
  at: string;
  /** How many of them were measured. */
  measured: number;
  p50: number;
  p95: number;
  p99: number;
}

export interface FiguresAnswer {
  /** ISO 8601, the database's clock. */
  as_of: string;
  /** Every state that a person may have to look at, and what is under way. */
  open: OpenFigure[];
  /** Destinations of which nobody can say now what lies unclaimed: of them `open` has no figure of that state. */
  unclaimed_unknown?: string[];
  /** The oldest hour first; hours without a delivery are left out. */
  times: HourFigure[];
}

/** One scan of each partial index; ended deliveries are not touched. */
const openSql = `
SELECT ${gateColumn} AS destination,
  CASE WHEN state IN ('pending', 'waiting') AND ${gateColumn} = ANY ($1::text[]) THEN 'held' ELSE state END AS state,
  count(*)::int AS count, floor(extract(epoch FROM clock_now() - min(submitted_at)) * 1000)::float8 AS age_ms
FROM delivery WHERE (state IN ('in_flight', 'pending', 'waiting') OR state IN ('uncertain', 'held')) AND NOT test GROUP BY 1, 2`;

const slotMinutes = 5;
const slots = (24 * 60) / slotMinutes;
const slotRows = 100;
const minuteMs = 60_000;

/**
 * Event ids begin with the time of acceptance, so that a slot of time is a piece of the primary key. Of each slot at most a hundred
 * deliveries are read: enough for percentiles, and never more than some ten thousand rows. Repairs and repeats would count a lead twice.
 */
const timesSql = `
SELECT hour::int AS hour, count(*)::int AS measured,
  percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY extract(epoch FROM updated_at - submitted_at) * 1000) AS percentiles
FROM unnest($1::int[], $2::uuid[], $3::uuid[]) AS slot(hour, first_id, end_id),
LATERAL (
  SELECT updated_at, submitted_at FROM delivery
  WHERE event_id >= first_id AND event_id < end_id AND state = 'delivered' AND generation = 1 AND NOT test LIMIT ${slotRows}) taken
GROUP BY hour ORDER BY hour`;

/** Handler of POST /internal/v1/deliveries:figures: how much is open, since when, and how long leads took. Test leads do not count. */
export function figuresRoute(db: Sql, readUnclaimed?: ReadUnclaimed): (body: FiguresRequest) => Promise<FiguresAnswer> {
  return async ({ times }) => {
    const unclaimed = (await readUnclaimed?.()) ?? new Map<string, Unclaimed>();
    const [clock] = await db.sql<{ now: Date }>('delivery.figures_clock', 'SELECT clock_now() AS now', []);
    const now = clock?.now ?? new Date();
    const blocked = await blockedDestinations(db);
    const open = await db.sql<OpenFigure>('delivery.figures_open', openSql, [[...blocked.keys()]]);
    return {
      as_of: now.toISOString(),
      open: [...open, ...unclaimedOf(unclaimed, now)],
      ...(readUnclaimed !== undefined && { unclaimed_unknown: unknownOf(unclaimed) }),
      times: times ? await timesOf(db, now) : [],
    };
  };
}

/** At least zero: a submission may be dated by a clock that is ahead of the database's. */
function unclaimedOf(unclaimed: ReadonlyMap<string, Unclaimed>, now: Date): OpenFigure[] {
  return [...unclaimed].flatMap(([destination, leads]) => {
    if ('unknown' in leads || leads.real.count === 0) return [];
    const { count, oldestAtMs = now.getTime() } = leads.real;
    return [{ destination, state: 'unclaimed', count, age_ms: Math.max(0, Math.floor(now.getTime() - oldestAtMs)) }];
  });
}

const unknownOf = (unclaimed: ReadonlyMap<string, Unclaimed>): string[] =>
  [...unclaimed].filter(([, leads]) => 'unknown' in leads).map(([destination]) => destination);

interface TimesRow {
  hour: number;
  measured: number;
  percentiles: [number, number, number];
}

async function timesOf(db: Sql, now: Date): Promise<HourFigure[]> {
  const hourMs = 60 * minuteMs;
  const endMs = (Math.floor(now.getTime() / hourMs) + 1) * hourMs;
  const beginMs = endMs - 24 * hourMs;
  const begins = Array.from({ length: slots }, (_, slot) => beginMs + slot * slotMinutes * minuteMs);
  const rows = await db.sql<TimesRow>('delivery.figures_times', timesSql, [
    begins.map((ms) => Math.floor((ms - beginMs) / hourMs)),
    begins.map((ms) => firstEventId(ms)),
    begins.map((ms) => firstEventId(ms + slotMinutes * minuteMs)),
  ]);
  return rows.map(({ hour, measured, percentiles: [p50, p95, p99] }) => ({
    at: new Date(beginMs + hour * hourMs).toISOString(),
    measured,
    p50: Math.round(p50),
    p95: Math.round(p95),
    p99: Math.round(p99),
  }));
}
