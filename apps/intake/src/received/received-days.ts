import type { ReceivedAnswer, ReceivedDay } from '#delivery';
import { firstEventId, type Sql } from '#runtime';

const dayMs = 86_400_000;
/** Leads of earlier days may be purged already, so that their number says nothing. */
const leadsKeptDays = 39;

type CountedRow = Record<'received' | 'accepted' | 'repeats' | 'conflicts' | 'rejected' | 'leads', string> &
  Pick<ReceivedDay, 'organization' | 'source' | 'day'> & { kept: boolean };

/**
 * One snapshot: a lead and its count are committed together. An event id carries the time of its acceptance, so that the leads of a window are a
 * range of the primary key.
 */
const sql = `
with counted as (
  select day, organization, source, sum(received) as received, sum(accepted) as accepted, sum(repeats) as repeats, sum(conflicts) as conflicts,
    sum(rejected) as rejected
  from received where day >= $1::date and day < $2::date group by day, organization, source
), leads as (
  select (accepted_at at time zone 'UTC')::date as day, organization, source, count(*) as leads from lead
  where event_id >= $3::uuid and event_id < $4::uuid group by 1, 2, 3
)
select to_char(day, 'YYYY-MM-DD') as day, organization, source, coalesce(received, 0) as received, coalesce(accepted, 0) as accepted,
  coalesce(repeats, 0) as repeats, coalesce(conflicts, 0) as conflicts, coalesce(rejected, 0) as rejected, coalesce(leads, 0) as leads,
  day > (clock_now() at time zone 'UTC')::date - ${leadsKeptDays} as kept
from counted full join leads using (day, organization, source) order by day, organization, source`;

/** What came in on the days from `from` to before `to`, both `2026-06-01`. Throws DatabaseUnavailable. */
export async function receivedDays(db: Sql, { from, to }: { from: string; to: string }): Promise<ReceivedAnswer> {
  const ids = [from, to].map((day) => firstEventId(Date.parse(day)));
  const rows = await db.sql<CountedRow>('intake.received_days', sql, [from, to, ...ids]);
  return { from, to, items: rows.map(toDay) };
}

function toDay({ day, organization, source, kept, leads, ...counts }: CountedRow): ReceivedDay {
  const { received, accepted, repeats, conflicts, rejected } = counts;
  return {
    organization,
    source,
    day,
    received: Number(received),
    accepted: Number(accepted),
    repeats: Number(repeats),
    conflicts: Number(conflicts),
    rejected: Number(rejected),
    ...(kept && { leads: Number(leads) }),
  };
}

/** The days of the balance: today and the seven before, as it can only look back for whole days. */
export function lastDays(now: Date): { from: string; to: string } {
  const today = Math.floor(now.getTime() / dayMs) * dayMs;
  return { from: dayOf(today - 7 * dayMs), to: dayOf(today + dayMs) };
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
