import { headers, topics } from '#contracts';
import type { Sql } from '#runtime';

/** A delivery that its owner should have claimed by now, as far as intake knows. */
export interface Unclaimed {
  eventId: string;
  destination: string;
}

const findSql = `
select event_id as "eventId", destination from delivery
where state = 'accepted' and claimed_at is null and announce_at <= clock_now()
order by announce_at limit $1`;

/** The oldest deliveries that are due to be looked after. Throws DatabaseUnavailable. */
export function findUnclaimed(db: Sql, limit: number): Promise<Unclaimed[]> {
  return db.sql<Unclaimed>('intake.find_unclaimed', findSql, [limit]);
}

const claimedSql = `
update delivery set claimed_at = clock_now()
from unnest($1::uuid[], $2::text[]) as claimed(event_id, destination)
where delivery.event_id = claimed.event_id and delivery.destination = claimed.destination and delivery.claimed_at is null`;

/** Notes that the owner has them: they are never announced again. */
export async function markClaimed(db: Sql, claimed: readonly Unclaimed[]): Promise<void> {
  if (claimed.length > 0) await db.sql('intake.mark_claimed', claimedSql, columnsOf(claimed));
}

/**
 * Each waits twice as long as the one before, up to 6 hours: a destination that is paused for a day must not find its topic full of repeats.
 * The record names only the destinations that lack it. Of two instances that look at once, the second finds the time moved on.
 */
const announceSql = `
with again as (
  update delivery
  set announcements = least(announcements + 1, 32000),
    announce_at = clock_now() + least(interval '5 minutes' * 2 ^ least(announcements, 7), interval '6 hours')
  from unnest($1::uuid[], $2::text[]) as missing(event_id, destination)
  where delivery.event_id = missing.event_id and delivery.destination = missing.destination
    and delivery.claimed_at is null and delivery.announce_at <= clock_now()
  returning delivery.event_id, delivery.destination
), per_lead as (
  select event_id, string_agg(destination, ',' order by destination) as destinations from again group by event_id
)
insert into outbox (topic, key, value, headers)
select '${topics.leadAccepted}', record_key, event, json_strip_nulls(json_build_object(
  '${headers.eventId}', event_id,
  '${headers.destinations}', destinations,
  '${headers.deadlineAt}', (extract(epoch from deadline_at) * 1000)::bigint::text,
  '${headers.traceparent}', traceparent,
  '${headers.tracestate}', tracestate))
from per_lead join lead using (event_id)
returning id`;

/** Puts the same event into the outbox again. Gives the number of records. */
export async function announceAgain(db: Sql, missing: readonly Unclaimed[]): Promise<number> {
  if (missing.length === 0) return 0;
  const rows = await db.sql('intake.announce_again', announceSql, columnsOf(missing));
  return rows.length;
}

function columnsOf(deliveries: readonly Unclaimed[]): [string[], string[]] {
  return [deliveries.map(({ eventId }) => eventId), deliveries.map(({ destination }) => destination)];
}
