import type { Sql } from '#runtime';

/** Stands for every destination in the table of pauses. */
export const allDestinations = '*';
/** A record that waits this long for the relay waits for Kafka. */
const stuckAfter = '1 minute';

const pauseSql = `
insert into destination_pause (destination, paused_at)
select destination, clock_now() from unnest($1::text[]) as paused(destination)
union all
select '${allDestinations}', clock_now() where exists (select from outbox where created_at < clock_timestamp() - interval '${stuckAfter}')
on conflict (destination) do update set paused_at = excluded.paused_at`;

/**
 * Notes which destinations take nothing at the moment, all of them where our own records do not get out. Their leads wait without a claim,
 * and the time in which one is expected begins when they take leads again.
 */
export async function notePauses(db: Sql, destinations: Iterable<string>): Promise<void> {
  await db.sql('intake.note_pauses', pauseSql, [[...destinations]]);
}

/** How long what was read of a backlog is believed. */
const backlogFreshFor = '1 minute';
/** Kafka's clock against PostgreSQL's, and the time that a record took from one to the other. */
const publishedWithin = '1 minute';

const backlogSql = `
insert into destination_pause (destination, unread_since, read_at)
select destination, unread_since, clock_now() from unnest($1::text[], $2::timestamptz[]) as backlog(destination, unread_since)
on conflict (destination) do update set unread_since = excluded.unread_since, read_at = excluded.read_at`;

/** Notes since when each destination's group has records to read; undefined: it has read everything. */
export async function noteBacklog(db: Sql, destinations: readonly string[], unread: ReadonlyMap<string, Date>): Promise<void> {
  const since = destinations.map((destination) => unread.get(destination) ?? null);
  await db.sql('intake.note_backlog', backlogSql, [destinations, since]);
}

/** SQL: `destination` was paused until less than `within` ago. */
export const isPausedSql = (destination: string, within: string): string => `exists (
    select from destination_pause p
    where p.destination in (${destination}, '${allDestinations}') and p.paused_at > clock_now() - interval '${within}')`;

/** SQL: what was announced at `announcedAt` may still lie unread before the group of `destination`. */
export const isUnreadSql = (destination: string, announcedAt: string): string => `exists (
    select from destination_pause p
    where p.destination = ${destination} and p.read_at > clock_now() - interval '${backlogFreshFor}'
      and p.unread_since <= ${announcedAt} + interval '${publishedWithin}')`;

/** Half a minute more than the time after which a delivery is looked after, so that this is done before anybody calls it overdue. */
const overdueAfter = '5 minutes 30 seconds';

/** SQL: nobody need have claimed what was announced at `announcedAt` for `destination` (two expressions). */
export function isYoungSql(destination: string, announcedAt: string): string {
  return `(${announcedAt} > clock_now() - interval '${overdueAfter}' or ${isPausedSql(destination, overdueAfter)}
    or ${isUnreadSql(destination, announcedAt)})`;
}
