import type { ExpireAnswer } from '#delivery';
import { type InternalClient, InternalRefused } from '#runtime';
import { endWithoutOwner, type NoOwnerTools } from './no-owner.js';
import { markClaimed, type Unclaimed } from './unclaimed.js';

/** A delivery that nobody claimed before its deadline, with everything that its owner needs. */
export interface OverdueRow extends Unclaimed {
  lead_ref: string;
  submitted_at: Date;
  deadline_at: Date;
  test: boolean;
  record_key: Buffer;
  event: Buffer;
  traceparent: string | null;
}

/** Place of a row in the order of deadlines; the deadline as PostgreSQL writes it, whose microseconds a Date would lose. */
interface Place {
  deadline: string;
  eventId: string;
  destination: string;
}
const beginning: Place = { deadline: '-infinity', eventId: '00000000-0000-0000-0000-000000000000', destination: '' };

const sql = `
with late as (
  select event_id, destination, deadline_at from delivery
  where state = 'accepted' and claimed_at is null and deadline_at <= clock_now()
    and (deadline_at, event_id, destination) > ($2::timestamptz, $3::uuid, $4)
  order by deadline_at, event_id, destination limit $1
)
select late.event_id as "eventId", late.destination, lead.lead_ref, lead.submitted_at, late.deadline_at, late.deadline_at::text as deadline,
  lead.test, lead.record_key, lead.event, lead.traceparent
from late join lead using (event_id) order by late.deadline_at, late.event_id, late.destination`;

/** As many as fit into one request with their events. */
const maxItems = 250;
/** Answers that say something against an item, and nothing against the caller. */
const aboutItems: readonly number[] = [400, 413, 422];

/**
 * Hands deliveries that nobody claimed before their deadline to their owner, which keeps them as `expired`: the record may lie behind a pause, or
 * the owner may have no use for it. One that the owner does not take is logged and tried again by the next sweep, the others go on. Gives how
 * many ended. Throws DatabaseUnavailable, InternalUnavailable, InternalRefused, RegistryUnavailable.
 */
export async function handOverOverdue(tools: NoOwnerTools, owner: InternalClient): Promise<number> {
  let ended = 0;
  for (let after: Place | undefined = beginning; after !== undefined; ) {
    const place: Place = after;
    const values = [maxItems, place.deadline, place.eventId, place.destination];
    const rows = await tools.db.sql<OverdueRow & Place>('intake.find_overdue', sql, values);
    ended += await handOver(tools, owner, rows);
    after = rows.length < maxItems ? undefined : rows.at(-1);
  }
  return ended;
}

/** Halves what is refused down to the item at fault, which alone stays. */
async function handOver(tools: NoOwnerTools, owner: InternalClient, rows: readonly OverdueRow[]): Promise<number> {
  const [first] = rows;
  if (first === undefined) return 0;
  try {
    return await settle(tools, rows, await owner.post<ExpireAnswer>('/internal/v1/deliveries:expire', { items: rows.map(toItem) }));
  } catch (error) {
    if (!(error instanceof InternalRefused && aboutItems.includes(error.status))) throw error;
    if (rows.length === 1) {
      logRefused(tools, first, error);
      return 0;
    }
  }
  const middle = Math.ceil(rows.length / 2);
  return (await handOver(tools, owner, rows.slice(0, middle))) + (await handOver(tools, owner, rows.slice(middle)));
}

function logRefused({ logger }: NoOwnerTools, { eventId, destination }: OverdueRow, err?: Error): void {
  logger.error({ err, event_id: eventId, destination }, 'The owner does not take a delivery past its deadline; it stays open');
}

async function settle(tools: NoOwnerTools, rows: readonly OverdueRow[], { items }: ExpireAnswer): Promise<number> {
  const results = new Map(items.map(({ event_id, destination, result }) => [`${event_id} ${destination}`, result]));
  const resultOf = ({ eventId, destination }: OverdueRow) => results.get(`${eventId} ${destination}`);
  const taken = rows.filter((row) => resultOf(row) === 'expired' || resultOf(row) === 'known');
  const homeless = rows.filter((row) => resultOf(row) === 'unknown_destination');
  for (const row of rows) if (resultOf(row) === 'refused') logRefused(tools, row);
  return (await markClaimed(tools.db, taken)) + (await endWithoutOwner(tools, homeless));
}

function toItem(row: OverdueRow): Record<string, string | boolean> {
  return {
    event_id: row.eventId,
    destination: row.destination,
    lead_ref: row.lead_ref,
    submitted_at: row.submitted_at.toISOString(),
    deadline_at: row.deadline_at.toISOString(),
    test: row.test,
    record_key: row.record_key.toString('base64'),
    event: row.event.toString('base64'),
    ...(row.traceparent !== null && { traceparent: row.traceparent }),
  };
}
