import { type DeliveryState, headers, type OperationState } from '#contracts';
import { insertOutbox, type OutboxRow } from '#messaging';
import type { Tx } from '#runtime';
import type { ExpiredLease } from '../policy/expire-lease.js';

/** Rows of one statement at most; a sweep repeats until fewer are left. */
export const sweepBatch = 200;
/** A row that is due this long is woken by the sweeper: whoever should have woken it did not. */
const overdueMs = 10_000;
/** At most one wake-up per delivery in this time. */
const wakeAgainMs = 60_000;

export interface SweptRow {
  event_id: string;
  destination: string;
  state: DeliveryState;
  attempt_id: string | null;
  operation_keys: string[];
  record_key: Buffer | null;
  event: Buffer;
  deadline_ms: number;
  now_ms: number;
  traceparent: string | null;
  tracestate: string | null;
}

export interface SweptOperation {
  operation_key: string;
  state: OperationState;
  attempts: number;
  marked: boolean;
}

const columns = `event_id, destination, state, attempt_id, operation_keys, record_key, event, traceparent, tracestate,
  (extract(epoch FROM deadline_at) * 1000)::float8 AS deadline_ms, (extract(epoch FROM now) * 1000)::float8 AS now_ms`;
const clock = 'WITH clock AS MATERIALIZED (SELECT clock_now() AS now)';

/** True when this transaction is the only one that sweeps this schema. */
export async function becomeSweeper(tx: Tx): Promise<boolean> {
  const [row] = await tx.sql<{ ours: boolean }>(
    'sweep.lock',
    `SELECT pg_try_advisory_xact_lock(hashtext('delivery sweeper'), hashtext(current_schema())) AS ours`,
    [],
  );
  return row?.ours === true;
}

/**
 * Claims whose holder did not renew them, oldest first. Rows that someone is writing at this moment are left out, and those of the
 * destinations to `skip`.
 */
export function expiredLeases(tx: Tx, skip: readonly string[]): Promise<SweptRow[]> {
  return tx.sql<SweptRow>(
    'sweep.expired',
    `${clock}
     SELECT ${columns} FROM delivery, clock
     WHERE state IN ('in_flight', 'pending', 'waiting') AND state = 'in_flight' AND coalesce(lease_until, next_attempt_at) < now
       AND destination <> ALL ($1::text[])
     ORDER BY coalesce(lease_until, next_attempt_at) LIMIT ${sweepBatch} FOR UPDATE OF delivery SKIP LOCKED`,
    [skip],
  );
}

/** Rows that are due and that nobody takes, oldest first, without those of the destinations to `skip`. */
export function overdue(tx: Tx, skip: readonly string[]): Promise<SweptRow[]> {
  return tx.sql<SweptRow>(
    'sweep.overdue',
    `${clock}
     SELECT ${columns} FROM delivery, clock
     WHERE state IN ('in_flight', 'pending', 'waiting') AND state <> 'in_flight'
       AND coalesce(lease_until, next_attempt_at) < now - ${overdueMs} * interval '1 millisecond'
       AND destination <> ALL ($1::text[])
       AND (woken_at IS NULL OR woken_at < now - ${wakeAgainMs} * interval '1 millisecond')
     ORDER BY coalesce(lease_until, next_attempt_at) LIMIT ${sweepBatch} FOR UPDATE OF delivery SKIP LOCKED`,
    [skip],
  );
}

export function operationsOf(tx: Tx, rows: readonly SweptRow[]): Promise<SweptOperation[]> {
  return tx.sql<SweptOperation>(
    'sweep.operations',
    `SELECT operation_key, state, attempts, sending_at IS NOT NULL AS marked FROM operation WHERE operation_key = ANY ($1::text[])`,
    [rows.flatMap((row) => row.operation_keys)],
  );
}

export interface Expired {
  row: SweptRow;
  after: ExpiredLease;
  /** Calls recorded so far, by operation key. */
  attempts: ReadonlyMap<string, number>;
}

/** Takes the leases away: new states, and an attempt row for each call that nobody saw the end of. */
export async function writeExpired(tx: Tx, expired: readonly Expired[]): Promise<void> {
  const operations = expired.flatMap(({ row, after, attempts }) => after.operations.map((operation) => ({ row, operation, attempts })));
  const attempted = operations.filter(({ operation }) => operation.attempted);
  await tx.sql(
    'sweep.take',
    `${clock}
     UPDATE delivery d SET state = i.state, attempt_id = NULL, lease_until = NULL, updated_at = now, code = 'lease_expired', class = NULL,
       next_attempt_at = CASE WHEN i.wake THEN now END
     FROM unnest($1::uuid[], $2::text[], $3::text[], $4::boolean[]) AS i(event_id, destination, state, wake), clock
     WHERE d.event_id = i.event_id AND d.destination = i.destination`,
    [
      expired.map(({ row }) => row.event_id),
      expired.map(({ row }) => row.destination),
      expired.map(({ after }) => after.state),
      expired.map(({ after }) => after.wake),
    ],
  );
  await tx.sql(
    'sweep.take_operations',
    `${clock}
     UPDATE operation o SET state = i.state, attempts = o.attempts + i.attempted::int, updated_at = now
     FROM unnest($1::text[], $2::text[], $3::boolean[]) AS i(operation_key, state, attempted), clock
     WHERE o.operation_key = i.operation_key AND o.state = 'in_flight'`,
    [
      operations.map(({ operation }) => operation.operationKey),
      operations.map(({ operation }) => operation.state),
      operations.map(({ operation }) => operation.attempted),
    ],
  );
  await tx.sql(
    'sweep.take_attempts',
    `${clock}
     INSERT INTO attempt (operation_key, attempt_id, late, number, started_at, outcome)
     SELECT operation_key, attempt_id, false, number, now, 'lease_expired'
     FROM unnest($1::text[], $2::uuid[], $3::int[]) AS i(operation_key, attempt_id, number), clock
     ON CONFLICT DO NOTHING`,
    [
      attempted.map(({ operation }) => operation.operationKey),
      attempted.map(({ row }) => row.attempt_id),
      attempted.map(({ operation, attempts }) => (attempts.get(operation.operationKey) ?? 0) + 1),
    ],
  );
}

/** Writes one wake-up per row, due now, with the event's own bytes. */
export async function wake(tx: Tx, rows: readonly SweptRow[], topicOf: (row: SweptRow) => string): Promise<void> {
  if (rows.length === 0) return;
  await tx.sql(
    'sweep.woken',
    `UPDATE delivery d SET woken_at = clock_now() FROM unnest($1::uuid[], $2::text[]) AS i(event_id, destination)
     WHERE d.event_id = i.event_id AND d.destination = i.destination`,
    [rows.map((row) => row.event_id), rows.map((row) => row.destination)],
  );
  await insertOutbox(
    tx,
    rows.map((row) => wakeUp(row, topicOf(row))),
  );
}

function wakeUp(row: SweptRow, topic: string): OutboxRow {
  const wakeHeaders: Record<string, string> = {
    [headers.eventId]: row.event_id,
    [headers.destinations]: row.destination,
    [headers.notBefore]: String(Math.floor(row.now_ms)),
    [headers.deadlineAt]: String(Math.floor(row.deadline_ms)),
  };
  if (row.traceparent !== null) wakeHeaders[headers.traceparent] = row.traceparent;
  if (row.tracestate !== null) wakeHeaders[headers.tracestate] = row.tracestate;
  return { topic, key: row.record_key, value: row.event, headers: wakeHeaders };
}

export interface StateCount {
  destination: string;
  state: DeliveryState;
  count: number;
}

/** Unfinished deliveries by destination and state. */
export function countUnfinished(tx: Tx): Promise<StateCount[]> {
  return tx.sql<StateCount>(
    'sweep.count',
    `SELECT destination, state, count(*)::int AS count FROM delivery
     WHERE state IN ('in_flight', 'pending', 'waiting') GROUP BY destination, state
     UNION ALL
     SELECT destination, state, count(*)::int FROM delivery
     WHERE state IN ('uncertain', 'held', 'dead', 'expired') GROUP BY destination, state`,
    [],
  );
}
