import type { DeliveryState } from '#contracts';
import type { AcceptedPage } from '#delivery';
import { firstEventId, type Sql } from '#runtime';

/** Shorter than any owner keeps a delivery, so that what is not found is missing, not purged. */
const windowMs = 8 * 86_400_000;
/** Deliveries in one page. */
const pageSize = 500;

interface AcceptedRow {
  event_id: string;
  destination: string;
  state: DeliveryState;
  own: boolean;
  organization: string | null;
  source: string | null;
}

/** What ended without ever having been claimed ended here. An event id carries the time of its acceptance, so the primary key is the order of acceptance. */
const sql = `
select event_id, destination, state, state <> 'accepted' and claimed_at is null as own, organization, source
from delivery left join lead using (event_id)
where (event_id, destination) > ($1::uuid, $2::text) and event_id < $3::uuid
order by event_id, destination limit ${pageSize}`;

/** One page of the deliveries accepted in the 8 days before `to`. `after` is the `next` of the page before. Throws DatabaseUnavailable. */
export async function acceptedPage(db: Sql, { to, after }: { to: Date; after?: string }): Promise<AcceptedPage> {
  const toMs = to.getTime();
  const [eventId, destination] = after === undefined ? [firstEventId(toMs - windowMs), ''] : cursorOf(after);
  const items = await db.sql<AcceptedRow>('intake.accepted_page', sql, [eventId, destination, firstEventId(toMs)]);
  const last = items.at(-1);
  return {
    items,
    to: to.toISOString(),
    ...(items.length === pageSize && last && { next: `${last.event_id} ${last.destination}` }),
  };
}

function cursorOf(after: string): [eventId: string, destination: string] {
  const space = after.indexOf(' ');
  return [after.slice(0, space), after.slice(space + 1)];
}
