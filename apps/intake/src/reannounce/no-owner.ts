import { headers, LeadAcceptedEvent, LeadResolvedEvent, topics } from '#contracts';
import { deadLetterRow } from '#delivery';
import { type Codec, DecodeError, insertOutbox, type OutboxRow } from '#messaging';
import { type Database, type Logger, type Site, standsForLead } from '#runtime';
import { deadWithoutOwner } from '../unrouted-records.js';
import type { OverdueRow } from './overdue.js';

const code = 'unknown_destination';

/** Only what nobody claimed in the meantime. */
const sql = `
update delivery set state = 'dead', class = 'routing', code = '${code}', as_of = clock_now()
from unnest($1::uuid[], $2::text[]) as homeless(event_id, destination)
where delivery.event_id = homeless.event_id and delivery.destination = homeless.destination
  and delivery.state = 'accepted' and delivery.claimed_at is null
returning delivery.event_id as "eventId", delivery.destination, delivery.as_of as "endedAt"`;

interface Ended {
  eventId: string;
  destination: string;
  endedAt: Date;
}

export interface NoOwnerTools {
  db: Database;
  codec: Pick<Codec, 'encode' | 'decode'>;
  site: Pick<Site, 'destinations'>;
  logger: Logger;
}

/**
 * Ends deliveries whose destination no service knows any more (it was taken out of the site file): dead and announced as such, with a dead
 * letter of class `routing` for a person to look at, in one transaction. Gives how many. Throws DatabaseUnavailable, RegistryUnavailable.
 */
export async function endWithoutOwner(tools: NoOwnerTools, rows: readonly OverdueRow[]): Promise<number> {
  if (rows.length === 0) return 0;
  return tools.db.transaction(async (tx) => {
    const columns = [rows.map(({ eventId }) => eventId), rows.map(({ destination }) => destination)];
    const ended = await tx.sql<Ended>('intake.end_without_owner', sql, columns);
    const times = new Map(ended.map((one) => [nameOf(one), one.endedAt]));
    const records: OutboxRow[] = [];
    for (const row of rows) {
      const endedAt = times.get(nameOf(row));
      if (endedAt !== undefined) records.push(...(await toResolved(tools, row, endedAt)), toDeadLetter(row));
    }
    await insertOutbox(tx, records);
    return ended.length;
  });
}

const nameOf = ({ eventId, destination }: { eventId: string; destination: string }): string => `${eventId} ${destination}`;

/** An event that cannot be read any more must not keep its delivery open: it ends without an announcement, which is logged. */
async function toResolved({ codec, site, logger }: NoOwnerTools, row: OverdueRow, resolvedAt: Date): Promise<OutboxRow[]> {
  const { eventId, destination } = row;
  try {
    const event = await codec.decode(LeadAcceptedEvent, row.event);
    const primary = standsForLead(site, event.destinations, destination);
    const value = codec.encode(LeadResolvedEvent, deadWithoutOwner(event, { destination, primary, code, resolvedAt }));
    const named: Record<string, string> = { [headers.eventId]: eventId, [headers.destinations]: destination };
    if (row.traceparent !== null) named[headers.traceparent] = row.traceparent;
    return [{ topic: topics.leadResolved, key: row.record_key, value, headers: named }];
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    logger.error({ err: error, event_id: eventId, destination }, 'End of a delivery without an owner not announced');
    return [];
  }
}

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
