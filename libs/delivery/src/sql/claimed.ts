import type { OperationState } from '#contracts';
import type { Database } from '#runtime';
import { leaseExpired } from '../policy/expire-lease.js';
import type { ComparedRecord } from '../replays/changed-since.js';
import type { OperationWork, Work } from '../work.js';

/** What a claim reads of a delivery. */
export interface ClaimedRow {
  attempt_id: string;
  left_ms: number | null;
  now_ms: number;
  /** What follows is null of a row that was made by this very claim. */
  first_seen_ms: number | null;
  generation: number | null;
  operation_keys: string[] | null;
  traceparent: string | null;
  tracestate: string | null;
  last_traceparent: string | null;
}

/** A row that this claim took over from an earlier one. */
export interface Taken<E> {
  work: Work<E>;
  row: ClaimedRow;
}

/** Marks the operations of deliveries that were taken over, and reads what earlier claims left in them: their lease is ours by now. */
const reopenSql = `
WITH reopened AS (
  UPDATE operation o SET state = 'in_flight', attempt_id = i.attempt_id, updated_at = clock_now()
  FROM unnest($1::text[], $2::uuid[]) AS i(operation_key, attempt_id)
  WHERE o.operation_key = i.operation_key AND o.state IN ('pending', 'waiting')
)
SELECT operation_key, kind, state, attempts, attempts_before, destination_ref, request_hash, mapping_version, code, compared,
    (extract(epoch FROM sending_at) * 1000)::float8 AS sent_ms
FROM operation
WHERE operation_key = ANY ($1::text[])`;

interface ReopenRow {
  operation_key: string;
  kind: string;
  state: OperationState;
  attempts: number;
  attempts_before: number;
  sent_ms: number | null;
  destination_ref: string | null;
  request_hash: string | null;
  mapping_version: number | null;
  code: string | null;
  compared: ComparedRecord | null;
}

/** No call of it can have been made. */
const isNew = ({ attempts, failedWith }: OperationWork): boolean => attempts === 0 && failedWith !== leaseExpired;

/** Fills in what the claim found: lease, clock, deadline, trace. `startedAt`: `performance.now()` before the statement. */
export function applyClaim(work: Work<unknown>, row: ClaimedRow, { startedAt, leaseMs }: { startedAt: number; leaseMs: number }): void {
  const now = performance.now();
  // The lease began in the database somewhere between the two: the earlier end is the safe one.
  work.leasedAt = startedAt;
  work.leaseUntil = startedAt + leaseMs;
  work.deadlineAt = now + (row.left_ms ?? 0);
  work.clockMs = row.now_ms;
  work.clockAt = now;
  work.deadlineMs = Math.round(row.now_ms + (row.left_ms ?? 0));
  work.firstSeenMs = row.first_seen_ms ?? row.now_ms;
  work.generation = row.generation ?? 1;
  work.lost = false;
  if (row.operation_keys === null) {
    const { trace } = work.received;
    work.trace = { traceparent: trace?.traceparent, tracestate: trace?.tracestate };
    return;
  }
  work.trace = {
    traceparent: row.traceparent ?? undefined,
    tracestate: row.tracestate ?? undefined,
    previous: row.last_traceparent ?? undefined,
  };
}

/** Opens the operations of rows that were taken over, and fills in what earlier claims left in them. */
export async function reopen<E>(db: Database, again: readonly Taken<E>[]): Promise<void> {
  const keys = again.flatMap(({ row }) => row.operation_keys ?? []);
  const attempts = again.flatMap(({ work, row }) => (row.operation_keys ?? []).map(() => work.attemptId));
  const rows = await db.sql<ReopenRow>('delivery.reopen', reopenSql, [keys, attempts]);
  const byKey = new Map(rows.map((row) => [row.operation_key, row]));
  for (const { work, row } of again) {
    const kept = (row.operation_keys ?? []).map((key) => byKey.get(key)).filter((operation) => operation !== undefined);
    work.operations = kept.map((operation) => ({
      kind: operation.kind,
      operationKey: operation.operation_key,
      state: operation.state,
      attempts: operation.attempts,
      attemptsBefore: operation.attempts_before,
      sentAtMs: operation.sent_ms ?? undefined,
      ref: operation.destination_ref ?? undefined,
      compared: operation.compared ?? undefined,
      requestHash: operation.request_hash ?? undefined,
      mappingVersion: operation.mapping_version ?? undefined,
      failedWith: operation.code ?? undefined,
    }));
    work.incomplete = kept.length === 0 || kept.length < (row.operation_keys ?? []).length;
    work.first = row.last_traceparent === null && work.operations.every(isNew);
  }
}
