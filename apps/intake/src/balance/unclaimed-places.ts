import { headers, topics } from '#contracts';
import type { DeliveryId, IntakePlace } from '#delivery';
import type { Sql } from '#runtime';
import { isYoungSql } from '../reannounce/pauses.js';

/** SQL: the deliveries among those asked that a table of records names. A record may be for some of a lead's destinations alone. */
const namedIn = (table: string): string => `
  select row.headers ->> '${headers.eventId}' as event_id, destination
  from ${table} as row, unnest(string_to_array(row.headers ->> '${headers.destinations}', ',')) as destination
  where row.topic = '${topics.leadAccepted}' and row.headers ->> '${headers.eventId}' in (select event_id::text from asked)`;

/** Each table is read at most once for all that is asked, and looked up by hash. */
const sql = `
with asked as materialized (
  select * from unnest($1::uuid[], $2::text[]) with ordinality as asked(event_id, destination, position)
), queued as materialized (${namedIn('outbox')}
), unsendable as materialized (${namedIn('outbox_parked')}
)
select case
  when d.state is distinct from 'accepted' or d.claimed_at is not null then 'claimed'
  when (asked.event_id::text, asked.destination) in (select event_id, destination from queued) then 'outbox'
  when (asked.event_id::text, asked.destination) in (select event_id, destination from unsendable) then 'parked'
  when ${isYoungSql('d.destination', 'd.announced_at')} then 'young'
  else 'overdue' end as place
from asked left join delivery d using (event_id, destination)
order by asked.position`;

/** Where intake has deliveries that their owner lacks, in the order asked. Throws DatabaseUnavailable. */
export async function unclaimedPlaces(db: Sql, ids: readonly DeliveryId[]): Promise<IntakePlace[]> {
  const values = [ids.map(({ event_id }) => event_id.toLowerCase()), ids.map(({ destination }) => destination)];
  const rows = await db.sql<{ place: IntakePlace }>('intake.unclaimed_places', sql, values);
  return rows.map(({ place }) => place);
}
