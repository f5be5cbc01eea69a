import type { DeliveryState, FailureClass, OperationState } from '#contracts';
import type { OutboxRow } from '#messaging';
import { type Column, columnValues, type Database, unnestColumns } from '#runtime';

/** What one call came to, as it is kept. */
export interface CallRecord {
  number: number;
  /** It counts against the policy's attempts. */
  spends: boolean;
  /** How long ago the call began, in milliseconds: the row gets the database's time. */
  startedAgoMs: number;
  durationMs: number;
  outcome: string;
  class?: FailureClass;
  code?: string;
  status?: number;
  providerRequestId?: string;
  traceId?: string;
  spanId?: string;
}

/** The new state of an operation, and the call behind it where there was one. */
export interface OperationRecord {
  operationKey: string;
  state: OperationState;
  ref?: string;
  class?: FailureClass;
  code?: string;
  requestHash?: string;
  mappingVersion?: number;
  /** When the call began that may have been executed and whose end nobody knows, epoch milliseconds of the database's clock. */
  sentAtMs?: number;
  /** An earlier call of that kind stands as it was, unless this one has its own: the key makes repeating it safe. */
  keepsSent?: boolean;
  call?: CallRecord;
}

/** Everything that one claim of a delivery came to; written whole or not at all. */
export interface DeliveryRecord {
  attemptId: string;
  eventId: string;
  destination: string;
  /** `in_flight`: some operations are done and the lease goes on. */
  state: DeliveryState;
  class?: FailureClass;
  code?: string;
  /** Epoch milliseconds of the database's clock: the next attempt of what waits, the first lookup that counts of what is uncertain. */
  dueMs?: number;
  /** Of the process span, for the link of a retry. */
  traceparent?: string;
  operations: OperationRecord[];
  outbox: OutboxRow[];
  /** Rows that announce its end as of another moment, in place of `outbox`. Absent: it has none. */
  announcedAt?(as: { resolvedAt: Date; generation: number }): OutboxRow[];
}

interface Of<T> {
  attemptId: string;
  item: T;
}
interface CallOf {
  attemptId: string;
  operation: OperationRecord;
  call: CallRecord;
}

const deliveryColumns: readonly Column<DeliveryRecord>[] = [
  ['attempt_id', 'uuid', (record) => record.attemptId],
  ['event_id', 'uuid', (record) => record.eventId],
  ['destination', 'text', (record) => record.destination],
  ['state', 'text', (record) => record.state],
  ['class', 'text', (record) => record.class],
  ['code', 'text', (record) => record.code],
  ['due_ms', 'float8', (record) => record.dueMs],
  ['traceparent', 'text', (record) => record.traceparent],
];

const operationColumns: readonly Column<Of<OperationRecord>>[] = [
  ['attempt_id', 'uuid', ({ attemptId }) => attemptId],
  ['operation_key', 'text', ({ item }) => item.operationKey],
  ['state', 'text', ({ item }) => item.state],
  ['ref', 'text', ({ item }) => item.ref],
  ['class', 'text', ({ item }) => item.class],
  ['code', 'text', ({ item }) => item.code],
  ['request_hash', 'text', ({ item }) => item.requestHash],
  ['mapping_version', 'int4', ({ item }) => item.mappingVersion],
  ['sent_ms', 'float8', ({ item }) => item.sentAtMs],
  ['keeps_sent', 'bool', ({ item }) => item.keepsSent ?? false],
  ['called', 'bool', ({ item }) => item.call !== undefined],
  ['spends', 'bool', ({ item }) => item.call?.spends ?? false],
];

const callColumns: readonly Column<CallOf>[] = [
  ['attempt_id', 'uuid', ({ attemptId }) => attemptId],
  ['operation_key', 'text', ({ operation }) => operation.operationKey],
  ['number', 'int4', ({ call }) => call.number],
  ['ago_ms', 'float8', ({ call }) => call.startedAgoMs],
  ['duration_ms', 'int4', ({ call }) => Math.round(call.durationMs)],
  ['outcome', 'text', ({ call }) => call.outcome],
  ['class', 'text', ({ call }) => call.class],
  ['code', 'text', ({ call }) => call.code],
  ['status', 'int2', ({ call }) => call.status],
  ['provider_request_id', 'text', ({ call }) => call.providerRequestId],
  ['destination_ref', 'text', ({ operation }) => operation.ref],
  ['trace_id', 'text', ({ call }) => call.traceId],
  ['span_id', 'text', ({ call }) => call.spanId],
];

const outboxColumns: readonly Column<Of<OutboxRow>>[] = [
  ['attempt_id', 'uuid', ({ attemptId }) => attemptId],
  ['topic', 'text', ({ item }) => item.topic],
  ['key', 'bytea', ({ item }) => item.key],
  ['value', 'bytea', ({ item }) => item.value],
  ['headers', 'json', ({ item }) => JSON.stringify(item.headers)],
];

const firstOperation = 1 + deliveryColumns.length;
const firstCall = firstOperation + operationColumns.length;
const firstOutbox = firstCall + callColumns.length;

/** Whether a call of `input.operation_key` that lost its claim brought a reference other than `input.ref`. */
export function holdsAnotherLate(input: string): string {
  return `(SELECT count(*) FROM attempt a WHERE a.operation_key = ${input}.operation_key AND a.late
    AND a.outcome IN ('succeeded', 'duplicate') AND a.destination_ref <> ${input}.ref) > 0`;
}

/**
 * Compare-and-set on the attempt id: only the holder of the claim changes state and announces. The calls are appended in either case, since
 * they were made; those that lost are `late`. A repeated record (its answer was lost) finds its own attempt rows and changes nothing; where
 * the claim goes on it finds its operations succeeded. A reference is held against those that came late under its key, while this claim was at
 * work: only of a delivery that was claimed before, which few were, and by a scalar subquery, which the planner can only look up by the key,
 * however few rows it takes the table for.
 */
const recordSql = `
WITH clock AS MATERIALIZED (SELECT clock_now() AS now),
won AS (
  UPDATE delivery d
  SET state = i.state, class = i.class, code = i.code, updated_at = now,
      lease_until = CASE WHEN i.state = 'in_flight' THEN d.lease_until END,
      next_attempt_at = to_timestamp(i.due_ms / 1000),
      last_traceparent = coalesce(i.traceparent, d.last_traceparent)
  FROM ${unnestColumns('i', deliveryColumns)}, clock
  WHERE d.event_id = i.event_id AND d.destination = i.destination AND d.attempt_id = i.attempt_id AND d.state = 'in_flight'
  RETURNING d.attempt_id, d.claims
),
done AS MATERIALIZED (
  SELECT *, (attempt_id IN (SELECT attempt_id FROM won)) IS TRUE AS won FROM ${unnestColumns('o', operationColumns, firstOperation)}
),
operations AS (
  UPDATE operation o
  SET state = i.state, class = i.class, code = i.code, updated_at = now,
      attempts = o.attempts + i.spends::int, absences = CASE WHEN i.called THEN 0 ELSE o.absences END, destination_ref = coalesce(i.ref, o.destination_ref),
      request_hash = coalesce(o.request_hash, i.request_hash), mapping_version = coalesce(o.mapping_version, i.mapping_version),
      sending_at = CASE WHEN i.sent_ms IS NOT NULL THEN to_timestamp(i.sent_ms / 1000)
        WHEN i.keeps_sent OR i.state IN ('uncertain', 'succeeded') THEN o.sending_at END
  FROM done i, clock
  WHERE o.operation_key = i.operation_key AND i.won AND o.state <> 'succeeded'
),
calls AS (
  INSERT INTO attempt (attempt_id, operation_key, late, number, started_at, duration_ms, outcome, class, code, status, provider_request_id,
      destination_ref, trace_id, span_id)
  SELECT attempt_id, operation_key, (attempt_id IN (SELECT attempt_id FROM won)) IS NOT TRUE, number,
      now - ago_ms * interval '1 millisecond', duration_ms, outcome, class, code, status, provider_request_id, destination_ref, trace_id,
      span_id
  FROM ${unnestColumns('c', callColumns, firstCall)}, clock
  ON CONFLICT DO NOTHING
),
announced AS (
  INSERT INTO outbox (topic, key, value, headers)
  SELECT topic, key, value, headers FROM ${unnestColumns('b', outboxColumns, firstOutbox)}
  WHERE (attempt_id IN (SELECT attempt_id FROM won)) IS TRUE
)
SELECT attempt_id, NULL AS operation_key FROM won
UNION ALL
SELECT attempt_id, operation_key FROM done i
WHERE (attempt_id IN (SELECT attempt_id FROM won WHERE claims > 1)) IS TRUE AND ref IS NOT NULL AND ${holdsAnotherLate('i')}`;

/** What became of a record. */
export interface Recorded {
  /** The claim still stood and all of it is written. */
  won: boolean;
  /** Operations of which a late answer had brought another reference: the destination holds two records. */
  secondReference: string[];
}

/** Writes one batch, in row order. */
export async function recordBatch(db: Database, records: readonly DeliveryRecord[]): Promise<Recorded[]> {
  const sorted = [...records].sort((a, b) => compare(a.eventId, b.eventId) || compare(a.destination, b.destination));
  const rows = await db.sql<{ attempt_id: string; operation_key: string | null }>('delivery.record', recordSql, recordValues(sorted));
  const won = new Map<string, string[]>();
  for (const { attempt_id, operation_key } of rows) {
    const secondReference = won.get(attempt_id) ?? [];
    if (operation_key !== null) secondReference.push(operation_key);
    won.set(attempt_id, secondReference);
  }
  return records.map(({ attemptId }) => ({ won: won.has(attemptId), secondReference: won.get(attemptId) ?? [] }));
}

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

function recordValues(records: readonly DeliveryRecord[]): unknown[] {
  const operations = records.flatMap(({ attemptId, operations }) => operations.map((item) => ({ attemptId, item })));
  const calls = operations.flatMap(({ attemptId, item }) => (item.call ? [{ attemptId, operation: item, call: item.call }] : []));
  const outbox = records.flatMap(({ attemptId, outbox }) => outbox.map((item) => ({ attemptId, item })));
  return [
    ...columnValues(deliveryColumns, records),
    ...columnValues(operationColumns, operations),
    ...columnValues(callColumns, calls),
    ...columnValues(outboxColumns, outbox),
  ];
}
