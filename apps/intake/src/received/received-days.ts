import type { ReceivedAnswer, ReceivedDay } from '#delivery';
import { type Database, firstEventId, type Tx } from '#runtime';

/** Leads of earlier days may be purged already, so that their number says nothing. */
const leadsKeptDays = 39;
/** Leads that one statement counts: well within its time. */
const mostAtOnce = 20_000;

type Name = Pick<ReceivedDay, 'organization' | 'source' | 'day'>;
type CountedRow = Name & Record<'received' | 'accepted' | 'repeats' | 'conflicts' | 'rejected', string>;

const countedSql = `
select to_char(day, 'YYYY-MM-DD') as day, organization, source, sum(received) as received, sum(accepted) as accepted, sum(repeats) as repeats,
  sum(conflicts) as conflicts, sum(rejected) as rejected
from received where day >= $1::date and day < $2::date group by day, organization, source`;

/** An event id carries the time of its acceptance, so that the leads of a window are a range of the primary key. */
const leadsSql = `
with page as materialized (
  select event_id, accepted_at, organization, source from lead where event_id > $1::uuid and event_id < $2::uuid
  order by event_id limit $3
)
select to_char(accepted_at at time zone 'UTC', 'YYYY-MM-DD') as day, organization, source, count(*)::int as leads,
  (select event_id from page order by event_id desc limit 1) as last, (select count(*)::int from page) as rows
from page group by 1, 2, 3`;

interface LeadsRow extends Name {
  leads: number;
  last: string;
  rows: number;
}

/**
 * Slot -1 holds what was there before anything was counted, all others what a counting process has counted. In between an intake of the release
 * before was at work, which counts nothing: that is the time from the last day of slot -1 to the first of the others.
 */
const comparedSql = `
with kept as (select (clock_now() at time zone 'UTC')::date - ${leadsKeptDays} as since),
found as (select max(day) as day from received, kept where slot = -1 and day > since)
select to_char(since, 'YYYY-MM-DD') as since, to_char(found.day, 'YYYY-MM-DD') as uncounted_since,
  to_char((select min(day) from received where slot >= 0 and day >= found.day), 'YYYY-MM-DD') as counted_since
from kept, found`;

interface ComparedRow {
  since: string;
  uncounted_since: string | null;
  counted_since: string | null;
}

/** Whether the number of leads of a day says something about what was counted on it. */
function isCompared(day: string, row: ComparedRow | undefined): boolean {
  const { since = '', uncounted_since: uncountedSince = null, counted_since: countedSince = null } = row ?? {};
  const uncounted = uncountedSince !== null && day >= uncountedSince && (countedSince === null || day <= countedSince);
  return day > since && !uncounted;
}

/**
 * What came in on the days from `from` to before `to`, both `2026-06-01`, as of one moment: a lead and its count are committed together. Throws
 * DatabaseUnavailable.
 */
export function receivedDays(
  db: Database,
  { from, to }: { from: string; to: string },
  countedAtOnce = mostAtOnce,
): Promise<ReceivedAnswer> {
  return db.transaction(async (tx) => {
    await tx.sql('intake.one_snapshot', 'set transaction isolation level repeatable read, read only', []);
    const [compared] = await tx.sql<ComparedRow>('intake.leads_compared', comparedSql, []);
    const leads = await countLeads(tx, { from, to, countedAtOnce });
    const counted = await tx.sql<CountedRow>('intake.received_counted', countedSql, [from, to]);
    const known = new Set(counted.map(nameOf));
    const uncounted = [...leads.values()].filter((row) => !known.has(nameOf(row))).map((row): CountedRow => ({ ...row, ...nothing }));
    const items = [...counted, ...uncounted].map((row) => {
      const number = leads.get(nameOf(row))?.leads ?? 0;
      return toDay(row, isCompared(row.day, compared) ? number : undefined);
    });
    return { from, to, items: items.sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)) };
  });
}

const nothing = { received: '0', accepted: '0', repeats: '0', conflicts: '0', rejected: '0' };
const nameOf = ({ day, organization, source }: Name): string => `${day}\n${organization}\n${source}`;

interface Window {
  from: string;
  to: string;
  countedAtOnce: number;
}

async function countLeads(tx: Tx, { from, to, countedAtOnce }: Window): Promise<Map<string, Name & { leads: number }>> {
  const counts = new Map<string, Name & { leads: number }>();
  const end = firstEventId(Date.parse(to));
  for (let after: string | undefined = firstEventId(Date.parse(from)); after !== undefined; ) {
    const rows: LeadsRow[] = await tx.sql<LeadsRow>('intake.received_leads', leadsSql, [after, end, countedAtOnce]);
    for (const { day, organization, source, leads } of rows) {
      const name = nameOf({ day, organization, source });
      counts.set(name, { day, organization, source, leads: leads + (counts.get(name)?.leads ?? 0) });
    }
    const [first] = rows;
    after = first !== undefined && first.rows === countedAtOnce ? first.last : undefined;
  }
  return counts;
}

function toDay({ day, organization, source, ...counts }: CountedRow, leads: number | undefined): ReceivedDay {
  return {
    organization,
    source,
    day,
    received: Number(counts.received),
    accepted: Number(counts.accepted),
    repeats: Number(counts.repeats),
    conflicts: Number(counts.conflicts),
    rejected: Number(counts.rejected),
    ...(leads !== undefined && { leads }),
  };
}
