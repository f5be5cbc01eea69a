import type { ExpireAnswer } from '#delivery';
import type { InternalClient } from '#runtime';
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

const sql = `
with late as (
  select event_id, destination, deadline_at from delivery
  where state = 'accepted' and claimed_at is null and deadline_at <= clock_now() order by deadline_at limit $1
)
select late.event_id as "eventId", late.destination, lead.lead_ref, lead.submitted_at, late.deadline_at, lead.test, lead.record_key,
  lead.event, lead.traceparent
from late join lead using (event_id)`;

/** As many as fit into one request with their events. */
const maxItems = 250;

/**
 * Hands deliveries that nobody claimed before their deadline to their owner, which keeps them as `expired`: the record may lie behind a pause, or
 * the owner may have no use for it. Gives how many ended. Throws DatabaseUnavailable, InternalUnavailable,
 * InternalRefused, RegistryUnavailable.
 */
export async function handOverOverdue(tools: NoOwnerTools, owner: InternalClient): Promise<number> {
  for (let count = 0; ; ) {
    const rows = await tools.db.sql<OverdueRow>('intake.find_overdue', sql, [maxItems]);
    if (rows.length === 0) return count;
    const answer = await owner.post<ExpireAnswer>('/internal/v1/deliveries:expire', { items: rows.map(toItem) });
    const ended = await settle(tools, rows, answer);
    count += ended;
    if (rows.length < maxItems || ended === 0) return count;
  }
}

async function settle(tools: NoOwnerTools, rows: readonly OverdueRow[], { items }: ExpireAnswer): Promise<number> {
  const results = new Map(items.map(({ event_id, destination, result }) => [`${event_id} ${destination}`, result]));
  const resultOf = ({ eventId, destination }: OverdueRow) => results.get(`${eventId} ${destination}`);
  const taken = rows.filter((row) => resultOf(row) === 'expired' || resultOf(row) === 'known');
  const homeless = rows.filter((row) => resultOf(row) === 'unknown_destination');
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
