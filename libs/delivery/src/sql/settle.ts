import { insertOutbox, type OutboxRow } from '#messaging';
import { type Column, columnValues, type Tx, unnestColumns } from '#runtime';
import type { AttemptNote, OperationChange, StoredChange } from '../stored-change.js';
import { clock } from './stored.js';

const deliveryColumns: readonly Column<StoredChange>[] = [
  ['event_id', 'uuid', ({ stored }) => stored.eventId],
  ['destination', 'text', ({ stored }) => stored.destination],
  ['state', 'text', (change) => change.state],
  ['class', 'text', (change) => change.class],
  ['code', 'text', (change) => change.code],
  ['due_ms', 'float8', ({ dueInMs }) => (dueInMs === Number.POSITIVE_INFINITY ? undefined : dueInMs)],
  ['never', 'bool', ({ dueInMs }) => dueInMs === Number.POSITIVE_INFINITY],
  ['wake', 'bool', ({ wake }) => wake ?? false],
  ['raise', 'bool', ({ raise }) => raise ?? false],
];

const operationColumns: readonly Column<OperationChange>[] = [
  ['operation_key', 'text', ({ operation }) => operation.operationKey],
  ['state', 'text', (change) => change.state],
  ['ref', 'text', ({ ref }) => ref],
  ['class', 'text', (change) => change.class],
  ['code', 'text', ({ code }) => code],
  ['attempted', 'bool', ({ attempted }) => attempted ?? false],
  ['absences', 'int2', ({ absences }) => absences],
  ['looked_up', 'bool', ({ lookedUp }) => lookedUp ?? false],
  ['sending_ms', 'float8', ({ sendingAtMs }) => sendingAtMs],
  ['keeps_sent', 'bool', ({ keepsSent }) => keepsSent ?? false],
];

/** A note with the operation it belongs to. */
export interface NotedAttempt extends AttemptNote {
  operationKey: string;
  /** The change it stood for was lost to another. */
  late?: boolean;
}

const noteColumns: readonly Column<NotedAttempt>[] = [
  ['operation_key', 'text', ({ operationKey }) => operationKey],
  ['attempt_id', 'uuid', ({ attemptId }) => attemptId],
  ['late', 'bool', ({ late }) => late ?? false],
  ['number', 'int4', ({ number }) => number],
  ['ago_ms', 'float8', ({ startedAgoMs }) => startedAgoMs],
  ['duration_ms', 'int4', ({ durationMs }) => (durationMs === undefined ? undefined : Math.round(durationMs))],
  ['outcome', 'text', ({ outcome }) => outcome],
  ['class', 'text', (note) => note.class],
  ['code', 'text', ({ code }) => code],
  ['destination_ref', 'text', ({ ref }) => ref],
  ['trace_id', 'text', ({ traceId }) => traceId],
  ['span_id', 'text', ({ spanId }) => spanId],
];

/** `updated_at` says when the state changed: an uncertain row that stays uncertain keeps it, since its waiting is counted from there. */
const deliverySql = `${clock}
UPDATE delivery d SET state = i.state, class = i.class, code = i.code, attempt_id = NULL, lease_until = NULL,
  next_attempt_at = CASE WHEN i.never THEN 'infinity' ELSE now + i.due_ms * interval '1 millisecond' END,
  woken_at = CASE WHEN i.wake THEN now ELSE d.woken_at END,
  raised_at = CASE WHEN i.raise THEN now WHEN i.state = 'uncertain' THEN d.raised_at END,
  updated_at = CASE WHEN i.state = 'uncertain' AND d.state = 'uncertain' AND NOT i.raise THEN d.updated_at ELSE now END
FROM ${unnestColumns('i', deliveryColumns)}, clock
WHERE d.event_id = i.event_id AND d.destination = i.destination`;

const operationSql = `${clock}
UPDATE operation o SET state = i.state, class = i.class, code = i.code, destination_ref = coalesce(i.ref, o.destination_ref),
  attempts = o.attempts + i.attempted::int, absences = coalesce(i.absences, o.absences), updated_at = now,
  looked_up_at = CASE WHEN i.looked_up THEN now ELSE o.looked_up_at END,
  sending_at = CASE WHEN i.sending_ms IS NOT NULL THEN to_timestamp(i.sending_ms / 1000)
    WHEN i.keeps_sent OR i.state IN ('uncertain', 'succeeded') THEN o.sending_at END
FROM ${unnestColumns('i', operationColumns)}, clock
WHERE o.operation_key = i.operation_key`;

const noteSql = `${clock}
INSERT INTO attempt (operation_key, attempt_id, late, number, started_at, duration_ms, outcome, class, code, destination_ref, trace_id, span_id)
SELECT operation_key, attempt_id, late, number, now - ago_ms * interval '1 millisecond', duration_ms, outcome, class, code, destination_ref,
  trace_id, span_id
FROM ${unnestColumns('i', noteColumns)}, clock
ON CONFLICT DO NOTHING`;

/** Only of who stands in the row still, or where nobody does and the person has no id: a claim that was parked has left it. */
const olderContactSql = `
UPDATE contact_state c SET contact_ref = i.ref, owner_fields = CASE WHEN c.owner_key IS NOT NULL THEN '{}'::jsonb END, updated_at = clock_now()
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS i(person_key, destination, operation_key, ref)
WHERE c.person_key = i.person_key AND c.destination = i.destination
  AND (c.owner_key = i.operation_key OR (c.owner_key IS NULL AND c.contact_ref IS NULL))`;

async function keepOlderContacts(tx: Tx, changes: readonly StoredChange[]): Promise<void> {
  const older = changes.flatMap(({ stored, olderContact }) => (olderContact ? [{ ...olderContact, destination: stored.destination }] : []));
  if (older.length === 0) return;
  const values = (['personKey', 'destination', 'operationKey', 'ref'] as const).map((name) => older.map((one) => one[name]));
  await tx.sql('settle.older_contact', olderContactSql, values);
}

/** Writes changes of deliveries that this transaction has locked, with their outbox rows. */
export async function settle(tx: Tx, changes: readonly StoredChange[], outbox: readonly OutboxRow[]): Promise<void> {
  if (changes.length === 0) return;
  const operations = changes.flatMap((change) => change.operations);
  await tx.sql('settle.delivery', deliverySql, columnValues(deliveryColumns, changes));
  if (operations.length > 0) await tx.sql('settle.operation', operationSql, columnValues(operationColumns, operations));
  await keepOlderContacts(tx, changes);
  await appendNotes(
    tx,
    operations.flatMap(({ operation, note }) => (note ? [{ ...note, operationKey: operation.operationKey }] : [])),
  );
  await insertOutbox(tx, outbox);
}

/** Appends to the log of attempts; one that stands there already is left alone. */
export async function appendNotes(tx: Tx, notes: readonly NotedAttempt[]): Promise<void> {
  if (notes.length > 0) await tx.sql('settle.attempt', noteSql, columnValues(noteColumns, notes));
}
