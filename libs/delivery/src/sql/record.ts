import type { DeliveryState, FailureClass, OperationState } from '#contracts';
import type { OutboxRow } from '#messaging';
import type { Database } from '#runtime';

/** What one call came to, as it is kept. */
export interface CallRecord {
  number: number;
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
  /** Until the next attempt. Set for `waiting` alone. */
  delayMs?: number;
  /** Of the process span, for the link of a retry. */
  traceparent?: string;
  operations: OperationRecord[];
  outbox: OutboxRow[];
}

/**
 * Compare-and-set on the attempt id: only the holder of the claim changes state and announces. The calls are appended in either case, since
 * they were made; those that lost are `late`. A repeated record (its answer was lost) finds its own attempt rows and changes nothing.
 */
const recordSql = `
WITH clock AS MATERIALIZED (SELECT clock_now() AS now),
won AS (
  UPDATE delivery d
  SET state = i.state, class = i.class, code = i.code, updated_at = now,
      lease_until = CASE WHEN i.state = 'in_flight' THEN d.lease_until END,
      next_attempt_at = now + i.delay_ms * interval '1 millisecond',
      last_traceparent = coalesce(i.traceparent, d.last_traceparent)
  FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::float8[], $8::text[])
      AS i(attempt_id, event_id, destination, state, class, code, delay_ms, traceparent), clock
  WHERE d.event_id = i.event_id AND d.destination = i.destination AND d.attempt_id = i.attempt_id AND d.state = 'in_flight'
  RETURNING d.attempt_id
),
done AS MATERIALIZED (
  SELECT *, (attempt_id IN (SELECT attempt_id FROM won)) IS TRUE AS won
  FROM unnest($9::uuid[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::int[], $17::boolean[])
      AS o(attempt_id, operation_key, state, ref, class, code, request_hash, mapping_version, called)
),
operations AS (
  UPDATE operation o
  SET state = i.state, class = i.class, code = i.code, updated_at = now,
      attempts = o.attempts + i.called::int, destination_ref = coalesce(i.ref, o.destination_ref),
      request_hash = coalesce(o.request_hash, i.request_hash), mapping_version = coalesce(o.mapping_version, i.mapping_version),
      sending_at = CASE WHEN i.state IN ('uncertain', 'succeeded') THEN o.sending_at END
  FROM done i, clock
  WHERE o.operation_key = i.operation_key AND i.won
),
calls AS (
  INSERT INTO attempt (attempt_id, operation_key, late, number, started_at, duration_ms, outcome, class, code, status, provider_request_id,
      destination_ref, trace_id, span_id)
  SELECT c.attempt_id, operation_key, (c.attempt_id IN (SELECT attempt_id FROM won)) IS NOT TRUE, number,
      now - ago_ms * interval '1 millisecond', duration_ms, outcome, class, code, status, provider_request_id, ref, trace_id, span_id
  FROM unnest($18::uuid[], $19::text[], $20::int[], $21::float8[], $22::int[], $23::text[], $24::text[], $25::text[], $26::smallint[],
      $27::text[], $28::text[], $29::text[], $30::text[])
      AS c(attempt_id, operation_key, number, ago_ms, duration_ms, outcome, class, code, status, provider_request_id, ref, trace_id,
        span_id), clock
  ON CONFLICT DO NOTHING
),
announced AS (
  INSERT INTO outbox (topic, key, value, headers)
  SELECT topic, key, value, headers
  FROM unnest($31::uuid[], $32::text[], $33::bytea[], $34::bytea[], $35::json[]) AS b(attempt_id, topic, key, value, headers)
  WHERE (attempt_id IN (SELECT attempt_id FROM won)) IS TRUE
)
SELECT attempt_id FROM won`;

/** Writes one batch, in row order. True for each delivery whose claim still stood. */
export async function recordBatch(db: Database, records: readonly DeliveryRecord[]): Promise<boolean[]> {
  const sorted = [...records].sort((a, b) => compare(a.eventId, b.eventId) || compare(a.destination, b.destination));
  const rows = await db.sql<{ attempt_id: string }>('delivery.record', recordSql, recordValues(sorted));
  const won = new Set(rows.map((row) => row.attempt_id));
  return records.map((record) => won.has(record.attemptId));
}

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

function recordValues(records: readonly DeliveryRecord[]): unknown[] {
  const operations = records.flatMap(({ attemptId, operations }) => operations.map((operation) => ({ attemptId, operation })));
  const calls = operations.flatMap(({ attemptId, operation }) => (operation.call ? [{ attemptId, operation, call: operation.call }] : []));
  const outbox = records.flatMap(({ attemptId, outbox }) => outbox.map((row) => ({ attemptId, row })));
  return [
    records.map((record) => record.attemptId),
    records.map((record) => record.eventId),
    records.map((record) => record.destination),
    records.map((record) => record.state),
    records.map((record) => record.class ?? null),
    records.map((record) => record.code ?? null),
    records.map((record) => record.delayMs ?? null),
    records.map((record) => record.traceparent ?? null),
    operations.map(({ attemptId }) => attemptId),
    operations.map(({ operation }) => operation.operationKey),
    operations.map(({ operation }) => operation.state),
    operations.map(({ operation }) => operation.ref ?? null),
    operations.map(({ operation }) => operation.class ?? null),
    operations.map(({ operation }) => operation.code ?? null),
    operations.map(({ operation }) => operation.requestHash ?? null),
    operations.map(({ operation }) => operation.mappingVersion ?? null),
    operations.map(({ operation }) => operation.call !== undefined),
    calls.map(({ attemptId }) => attemptId),
    calls.map(({ operation }) => operation.operationKey),
    calls.map(({ call }) => call.number),
    calls.map(({ call }) => call.startedAgoMs),
    calls.map(({ call }) => Math.round(call.durationMs)),
    calls.map(({ call }) => call.outcome),
    calls.map(({ call }) => call.class ?? null),
    calls.map(({ call }) => call.code ?? null),
    calls.map(({ call }) => call.status ?? null),
    calls.map(({ call }) => call.providerRequestId ?? null),
    calls.map(({ operation }) => operation.ref ?? null),
    calls.map(({ call }) => call.traceId ?? null),
    calls.map(({ call }) => call.spanId ?? null),
    outbox.map(({ attemptId }) => attemptId),
    outbox.map(({ row }) => row.topic),
    outbox.map(({ row }) => row.key),
    outbox.map(({ row }) => row.value),
    outbox.map(({ row }) => JSON.stringify(row.headers)),
  ];
}
