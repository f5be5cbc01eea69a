import { headers } from '#contracts';
import { type Column, columnValues, type Database, unnestColumns } from '#runtime';
import { mergedFields, writtenAt } from './contact-rows.js';
import type { SettledWrite } from './contacts.js';

export interface Settling {
  write: SettledWrite;
  /** Nothing was executed under this hold: the row is freed though the operation goes on. */
  notSentUnder?: string;
  gone: boolean;
  wakeTopic: string;
}

const columns: readonly Column<Settling>[] = [
  ['person_key', 'text', ({ write }) => write.personKey],
  ['destination', 'text', ({ write }) => write.destination],
  ['operation_key', 'text', ({ write }) => write.operationKey],
  ['hold_id', 'uuid', ({ notSentUnder }) => notSentUnder],
  ['gone', 'bool', ({ gone }) => gone],
  ['wake_topic', 'text', ({ wakeTopic }) => wakeTopic],
];

/**
 * Frees each row whose owner has ended, or is known not to have been sent under this very hold, and keeps what a success brought: the
 * reference, and which fields it wrote. Of the deliveries that wait for a freed row the oldest is due at once, and a record says so.
 */
const settleSql = `
WITH clock AS MATERIALIZED (SELECT clock_now() AS now),
ended AS MATERIALIZED (
  SELECT i.*, o.state IN ('succeeded', 'dead', 'expired', 'discarded', 'erased') AS final, o.state = 'succeeded' AS succeeded,
    CASE WHEN o.state = 'succeeded' THEN o.destination_ref END AS ref
  FROM ${unnestColumns('i', columns)} JOIN operation o ON o.operation_key = i.operation_key
),
freed AS (
  UPDATE contact_state c
  SET owner_key = NULL, owner_hold_id = NULL, owner_fields = NULL, updated_at = now, written_at = ${writtenAt},
    contact_ref = CASE WHEN i.gone AND NOT i.final THEN NULL ELSE coalesce(i.ref, c.contact_ref) END,
    fields = CASE WHEN i.succeeded THEN ${mergedFields} WHEN i.gone AND NOT i.final THEN '{}' ELSE c.fields END
  FROM ended i, clock
  WHERE c.person_key = i.person_key AND c.destination = i.destination AND c.owner_key = i.operation_key
    AND (i.final OR c.owner_hold_id = i.hold_id)
  RETURNING c.person_key, c.destination, i.wake_topic
),
next AS MATERIALIZED (
  SELECT found.event_id, f.destination, f.wake_topic
  FROM freed f CROSS JOIN LATERAL (
    SELECT event_id FROM delivery d
    WHERE d.destination = f.destination AND d.record_key = convert_to(f.person_key, 'UTF8') AND d.state = 'waiting' AND d.code = 'contact_busy'
    ORDER BY d.submitted_at, d.event_id LIMIT 1 FOR UPDATE SKIP LOCKED) AS found
),
woken AS (
  UPDATE delivery d SET next_attempt_at = now, woken_at = now FROM next n, clock
  WHERE d.event_id = n.event_id AND d.destination = n.destination AND d.state = 'waiting' AND d.next_attempt_at > now
  RETURNING d.event_id, d.destination, d.deadline_at, d.record_key, d.event, d.traceparent, d.tracestate, n.wake_topic
),
announced AS (
  INSERT INTO outbox (topic, key, value, headers)
  SELECT wake_topic, record_key, event, json_strip_nulls(json_build_object(
    '${headers.eventId}', event_id, '${headers.destinations}', destination,
    '${headers.notBefore}', floor(extract(epoch FROM now) * 1000)::bigint::text,
    '${headers.deadlineAt}', floor(extract(epoch FROM deadline_at) * 1000)::bigint::text,
    '${headers.traceparent}', traceparent, '${headers.tracestate}', tracestate))
  FROM woken, clock
)
SELECT (SELECT count(*)::int FROM freed) AS freed, (SELECT count(*)::int FROM woken) AS woken`;

/** Settles one batch; of two holds of one operation in it one at most is the row's. Gives how many deliveries were woken. */
export async function settleRows(db: Database, items: readonly Settling[]): Promise<number> {
  const sorted = [...items].sort(
    (a, b) => compare(a.write.destination, b.write.destination) || compare(a.write.personKey, b.write.personKey),
  );
  const [row] = await db.sql<{ woken: number }>('contact.settle', settleSql, columnValues(columns, sorted));
  return row?.woken ?? 0;
}

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
