import { headers, topics } from '#contracts';
import type { DeliveryId, IntakePlace } from '#delivery';
import type { Sql } from '#runtime';
import { isYoungSql } from '../reannounce/unclaimed.js';

/** SQL: a table of lead.accepted records names the asked delivery. A record may be for some of a lead's destinations alone. */
const namedIn = (records: string): string => `exists (
    select from ${records} r where r.event_id = asked.event_id::text and asked.destination = any (string_to_array(r.destinations, ',')))`;

const recordsOf = (table: string): string => `
  select headers ->> '${headers.eventId}' as event_id, headers ->> '${headers.destinations}' as destinations from ${table}
  where topic = '${topics.leadAccepted}' and headers ->> '${headers.eventId}' = any ($1::text[])`;

const sql = `
with asked as (
  select * from unnest($1::uuid[], $2::text[]) with ordinality as asked(event_id, destination, position)
), queued as materialized (${recordsOf('outbox')}
), unsendable as materialized (${recordsOf('outbox_parked')}
)
select case
  when d.state is distinct from 'accepted' or d.claimed_at is not null then 'claimed'
  when ${namedIn('queued')} then 'outbox'
  when ${namedIn('unsendable')} then 'parked'
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
