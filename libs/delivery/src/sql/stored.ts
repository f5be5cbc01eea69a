import type { DeliveryState, FailureClass, OperationState } from '#contracts';
import type { Tx } from '#runtime';
import type { StoredDelivery, StoredOperation } from '../stored-delivery.js';

export interface StoredRow {
  event_id: string;
  destination: string;
  state: DeliveryState;
  class: FailureClass | null;
  code: string | null;
  generation: number;
  claims: number;
  lead_ref: string;
  submitted_at: Date;
  deadline_at: Date;
  claimed_at: Date;
  updated_at: Date;
  raised_at: Date | null;
  test: boolean;
  record_key: Buffer | null;
  event: Buffer;
  traceparent: string | null;
  tracestate: string | null;
  attempt_id: string | null;
  operation_keys: string[];
  now: Date;
}

/** Columns of `delivery d` and `clock` that a {@link StoredRow} is. */
export const storedColumns = `d.event_id, d.destination, d.state, d.class, d.code, d.generation, d.claims, d.lead_ref, d.submitted_at, d.deadline_at,
  d.claimed_at, d.updated_at, d.raised_at, d.test, d.record_key, d.event, d.traceparent, d.tracestate, d.attempt_id, d.operation_keys, now`;

export const clock = 'WITH clock AS MATERIALIZED (SELECT clock_now() AS now)';

interface OperationRow {
  operation_key: string;
  kind: string;
  state: OperationState;
  destination_ref: string | null;
  attempts: number;
  attempts_before: number;
  absences: number;
  looked_up_ms: number | null;
  sending_ms: number | null;
  marked: boolean | null;
  class: FailureClass | null;
  code: string | null;
}

/**
 * A mark is made a little before its call, by an estimate at worst, and the attempt is dated back from when its answer was written, so never
 * too early: the later of the two is when the call began. `marked`: a mark alone is younger than the row's last change.
 */
const operationsSql = `
SELECT operation_key, kind, state, destination_ref, attempts, attempts_before, absences, class, code, sending_at > updated_at AS marked,
  (extract(epoch FROM looked_up_at) * 1000)::float8 AS looked_up_ms, CASE WHEN sending_at IS NOT NULL THEN (
    SELECT (extract(epoch FROM greatest(sending_at, max(a.started_at))) * 1000)::float8 FROM attempt a
    WHERE a.operation_key = o.operation_key AND a.outcome IN ('uncertain', 'transient', 'lease_expired')
  ) END AS sending_ms
FROM operation o WHERE operation_key = ANY ($1::text[])`;

/** Adds the operations to rows that this transaction has locked: read afterwards, they cannot be older than the lock. */
export async function withOperations(tx: Tx, rows: readonly StoredRow[]): Promise<StoredDelivery[]> {
  if (rows.length === 0) return [];
  const operations = await tx.sql<OperationRow>('stored.operations', operationsSql, [rows.flatMap((row) => row.operation_keys)]);
  const byKey = new Map(operations.map((row) => [row.operation_key, toOperation(row)]));
  return rows.map((row) => toStored(row, byKey));
}

function toStored(row: StoredRow, byKey: ReadonlyMap<string, StoredOperation>): StoredDelivery {
  const operations = row.operation_keys.map((key) => byKey.get(key)).filter((operation) => operation !== undefined);
  return { ...storedHead(row), operations, incomplete: operations.length === 0 || operations.length < row.operation_keys.length };
}

/** The delivery alone, without its operations. */
export function storedHead(row: StoredRow): StoredDelivery {
  return {
    eventId: row.event_id,
    destination: row.destination,
    state: row.state,
    class: row.class ?? undefined,
    code: row.code ?? undefined,
    generation: row.generation,
    claims: row.claims,
    leadRef: row.lead_ref,
    submittedAt: row.submitted_at,
    deadlineAt: row.deadline_at,
    firstSeenAt: row.claimed_at,
    changedAt: row.updated_at,
    raisedAt: row.raised_at ?? undefined,
    test: row.test,
    recordKey: row.record_key,
    event: row.event,
    traceparent: row.traceparent ?? undefined,
    tracestate: row.tracestate ?? undefined,
    attemptId: row.attempt_id ?? undefined,
    operations: [],
    resolvedAt: row.now,
  };
}

const toOperation = (row: OperationRow): StoredOperation => ({
  kind: row.kind,
  operationKey: row.operation_key,
  state: row.state,
  ref: row.destination_ref ?? undefined,
  attempts: row.attempts,
  attemptsBefore: row.attempts_before,
  absences: row.absences,
  lookedUpAtMs: row.looked_up_ms ?? undefined,
  sendingAtMs: row.sending_ms ?? undefined,
  marked: row.marked ?? false,
  class: row.class ?? undefined,
  code: row.code ?? undefined,
});

/** Locks one delivery and reads it whole; undefined when there is none. */
export async function lockStored(tx: Tx, key: { eventId: string; destination: string }): Promise<StoredDelivery | undefined> {
  const rows = await tx.sql<StoredRow>(
    'stored.lock',
    `${clock} SELECT ${storedColumns} FROM delivery d, clock WHERE event_id = $1 AND destination = $2 FOR UPDATE OF d`,
    [key.eventId, key.destination],
  );
  const [stored] = await withOperations(tx, rows);
  return stored;
}
