import { headers, topics } from '#contracts';
import type { Sql } from '#runtime';
import { reannounceAfter } from '../store/insert-leads.js';
import { isPausedSql, isUnreadSql } from './pauses.js';

/** A delivery that its owner should have claimed by now, as far as intake knows. */
export interface Unclaimed {
  eventId: string;
  destination: string;
}

/** Destinations with unclaimed deliveries. Each step of the recursion finds the next one in the index, however many deliveries each has. */
const openSql = `
with recursive open(destination) as (
  (select destination from delivery where state = 'accepted' and claimed_at is null order by destination limit 1)
  union all
  select (select d.destination from delivery d where d.state = 'accepted' and d.claimed_at is null and d.destination > open.destination
    order by d.destination limit 1)
  from open where open.destination is not null
)`;
const dueSql = `d.state = 'accepted' and d.claimed_at is null and d.destination = open.destination and d.announce_at <= clock_now()`;

const dueDestinationsSql = `${openSql}
select destination from open
where destination is not null and not ${isPausedSql('open.destination', reannounceAfter)} and exists (select from delivery d where ${dueSql})`;

/** Destinations that take leads, and have some that are due to be looked after. Throws DatabaseUnavailable. */
export async function dueDestinations(db: Sql): Promise<string[]> {
  const rows = await db.sql<{ destination: string }>('intake.due_destinations', dueDestinationsSql, []);
  return rows.map(({ destination }) => destination);
}

const findSql = `${openSql}
select due.event_id as "eventId", open.destination from open cross join lateral (
  select d.event_id, d.announce_at from delivery d
  where ${dueSql} and not ${isUnreadSql('d.destination', 'd.announced_at')}
  order by d.announce_at limit $1
) as due
where open.destination is not null and not ${isPausedSql('open.destination', reannounceAfter)}
order by due.announce_at limit $1`;

/** The oldest deliveries that are due to be looked after: of no destination that is paused or was lately, and none that may lie unread. */
export function findUnclaimed(db: Sql, limit: number): Promise<Unclaimed[]> {
  return db.sql<Unclaimed>('intake.find_unclaimed', findSql, [limit]);
}

const claimedSql = `
update delivery set claimed_at = clock_now()
from unnest($1::uuid[], $2::text[]) as claimed(event_id, destination)
where delivery.event_id = claimed.event_id and delivery.destination = claimed.destination and delivery.claimed_at is null
returning delivery.event_id`;

/** Notes that the owner has them: they are never announced again. Gives how many it was not noted of before. */
export async function markClaimed(db: Sql, claimed: readonly Unclaimed[]): Promise<number> {
  if (claimed.length === 0) return 0;
  const rows = await db.sql('intake.mark_claimed', claimedSql, columnsOf(claimed));
  return rows.length;
}

/**
 * Each waits twice as long as the one before, up to 6 hours, and none longer than its deadline. The record names only the destinations that
 * lack it. Of two instances that look at once, the second finds the time moved on.
 */
const announceSql = `
with again as (
  update delivery
  set announcements = least(announcements + 1, 32000), announced_at = clock_now(),
    announce_at = clock_now() + least(interval '${reannounceAfter}' * 2 ^ least(announcements, 7), interval '6 hours')
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
