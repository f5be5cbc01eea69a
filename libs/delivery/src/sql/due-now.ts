import type { DeliveryState } from '#contracts';
import type { Sql } from '#runtime';

export interface AskedDelivery {
  state: DeliveryState;
  /** Of the operation asked about; null where it is not uncertain. */
  kind: string | null;
}

/** A lookup under way, which a lease shows, is left alone. */
const sql = `
WITH asked AS MATERIALIZED (
  SELECT d.event_id, d.destination, d.state, o.kind FROM delivery d
    LEFT JOIN operation o ON o.operation_key = $3 AND o.operation_key = ANY (d.operation_keys) AND o.state = 'uncertain'
  WHERE d.event_id = $1 AND d.destination = $2
), due AS (
  UPDATE delivery d SET next_attempt_at = clock_now() FROM asked
  WHERE d.event_id = asked.event_id AND d.destination = asked.destination AND asked.kind IS NOT NULL AND d.state = 'uncertain' AND d.lease_until IS NULL
)
SELECT state, kind FROM asked`;

/** Makes an uncertain delivery due for a lookup at once; undefined when it is not known here. Throws DatabaseUnavailable. */
export async function dueNow(
  db: Sql,
  { eventId, destination, operationKey }: { eventId: string; destination: string; operationKey: string },
): Promise<AskedDelivery | undefined> {
  const [row] = await db.sql<AskedDelivery>('command.lookup', sql, [eventId, destination, operationKey]);
  return row;
}
