import { topics } from '#contracts';
import { deadLetterRow } from '#delivery';
import { insertOutbox } from '#messaging';
import type { Database } from '#runtime';
import type { OverdueRow } from './overdue.js';

const code = 'unknown_destination';

/** Only what nobody claimed in the meantime. */
const sql = `
update delivery set state = 'dead', class = 'routing', code = '${code}', as_of = clock_now()
from unnest($1::uuid[], $2::text[]) as homeless(event_id, destination)
where delivery.event_id = homeless.event_id and delivery.destination = homeless.destination
  and delivery.state = 'accepted' and delivery.claimed_at is null
returning delivery.event_id as "eventId", delivery.destination`;

/**
 * Ends deliveries whose destination no service knows any more (it was taken out of the site file): dead, with a dead letter of class `routing` for
 * a person to look at, in one transaction. Gives how many. Throws DatabaseUnavailable.
 */
export async function endWithoutOwner(db: Database, rows: readonly OverdueRow[]): Promise<number> {
  if (rows.length === 0) return 0;
  return db.transaction(async (tx) => {
    const columns = [rows.map(({ eventId }) => eventId), rows.map(({ destination }) => destination)];
    const ended = await tx.sql<{ eventId: string; destination: string }>('intake.end_without_owner', sql, columns);
    const names = new Set(ended.map(nameOf));
    await insertOutbox(tx, rows.filter((row) => names.has(nameOf(row))).map(toDeadLetter));
    return ended.length;
  });
}

const nameOf = ({ eventId, destination }: { eventId: string; destination: string }): string => `${eventId} ${destination}`;

const toDeadLetter = (row: OverdueRow) =>
  deadLetterRow({
    topic: topics.intakeDlq,
    key: row.record_key,
    value: row.event,
    eventId: row.eventId,
    destination: row.destination,
    deadlineAtMs: row.deadline_at.getTime(),
    class: 'routing',
    code,
    ref: `lead:${row.lead_ref}`,
    traceparent: row.traceparent ?? undefined,
  });
