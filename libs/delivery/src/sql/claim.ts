import type { OperationState } from '#contracts';
import { type Column, columnValues, type Database, unnestColumns } from '#runtime';
import { originOf } from '../dead-letters.js';
import type { PlannedOperation } from '../target.js';
import { byRowOrder, type Work } from '../work.js';
import { applyClaim, type ClaimedRow, reopen, type Taken } from './claimed.js';
import { cleanText } from './clean-text.js';

/** What a claim met. */
export type ClaimResult =
  /** Ours until the lease ends. */
  | { kind: 'claimed' }
  /** Another claim holds it, or held it and is waited for by the sweeper. */
  | { kind: 'leased' }
  /** `pending`: another process keeps it in memory while its target is paused, for so long at most. */
  | { kind: 'not_due'; state: 'pending' | 'waiting'; waitMs: number }
  /** Ended, or waiting for something other than its time: no record changes it. */
  | { kind: 'closed'; state: OperationState };

const deliveryColumns: readonly Column<Work<unknown>>[] = [
  ['attempt_id', 'uuid', (work) => work.attemptId],
  ['event_id', 'uuid', (work) => work.plan.eventId],
  ['destination', 'text', (work) => work.plan.destination],
  ['lead_ref', 'text', (work) => work.plan.leadRef],
  ['submitted_at', 'timestamptz', (work) => work.plan.submittedAt],
  ['deadline_at', 'timestamptz', (work) => work.plan.deadlineAt],
  ['test', 'bool', (work) => work.plan.test],
  ['operation_keys', 'text', (work) => work.plan.operations.map(({ operationKey }) => operationKey).join('\n')],
  ['traceparent', 'text', (work) => work.received.trace?.traceparent],
  ['tracestate', 'text', (work) => work.received.trace?.tracestate],
  ['record_key', 'bytea', (work) => work.received.receipt.record.key],
  ['event', 'bytea', (work) => work.received.receipt.record.value],
  ['origin', 'text', (work) => originText(work)],
];

/** `lead.accepted/3/77`; undefined where the record's way is not known. */
function originText(work: Work<unknown>): string | undefined {
  const origin = originOf(work.received.receipt.record);
  return origin && cleanText(`${origin.topic}/${origin.partition}/${origin.offset}`);
}

interface ClaimRow extends ClaimedRow {
  claims: number | null;
  /** [state, milliseconds until due] of a row that was not claimed. */
  met: [OperationState, number] | null;
}

interface NewOperation {
  work: Work<unknown>;
  operation: PlannedOperation;
}

const operationColumns: readonly Column<NewOperation>[] = [
  ['operation_key', 'text', ({ operation }) => operation.operationKey],
  ['event_id', 'uuid', ({ work }) => work.plan.eventId],
  ['destination', 'text', ({ work }) => work.plan.destination],
  ['kind', 'text', ({ operation }) => operation.kind],
  ['attempt_id', 'uuid', ({ work }) => work.attemptId],
];

const firstOperation = 1 + deliveryColumns.length;
const leaseParameter = firstOperation + operationColumns.length;

/**
 * Inserts deliveries with their operations, or takes over what is due. A claim that is repeated with its own attempt id (its answer was
 * lost) succeeds again. `IN (…) IS TRUE` keeps the planner from joining: a hashed lookup in what was claimed, whatever it estimates.
 */
const claimSql = `
WITH clock AS MATERIALIZED (SELECT clock_now() AS now),
input AS MATERIALIZED (SELECT * FROM ${unnestColumns('i', deliveryColumns)}),
claimed AS (
  INSERT INTO delivery AS d (event_id, destination, state, attempt_id, lease_until, submitted_at, deadline_at, claimed_at, updated_at,
      test, lead_ref, operation_keys, traceparent, tracestate, record_key, event, origin)
  SELECT event_id, destination, 'in_flight', attempt_id, now + $${leaseParameter}::float8 * interval '1 millisecond', submitted_at, deadline_at,
      now, now, test, lead_ref, string_to_array(operation_keys, E'\n'), traceparent, tracestate, record_key, event, origin
  FROM input, clock
  ON CONFLICT (event_id, destination) DO UPDATE
  SET state = 'in_flight', attempt_id = excluded.attempt_id, lease_until = excluded.lease_until, next_attempt_at = NULL, woken_at = NULL,
      claims = d.claims + 1, updated_at = excluded.updated_at
  WHERE (d.attempt_id = excluded.attempt_id AND d.state IN ('in_flight', 'pending'))
     OR (d.state IN ('pending', 'waiting') AND coalesce(d.next_attempt_at, '-infinity') <= excluded.claimed_at)
  RETURNING d.attempt_id, d.claims, d.deadline_at, d.claimed_at, d.generation, d.operation_keys, d.traceparent, d.tracestate, d.last_traceparent
),
opened AS (
  INSERT INTO operation (operation_key, event_id, destination, kind, state, attempt_id, updated_at)
  SELECT operation_key, event_id, destination, kind, 'in_flight', attempt_id, now
  FROM ${unnestColumns('o', operationColumns, firstOperation)}, clock
  WHERE (attempt_id IN (SELECT attempt_id FROM claimed WHERE claims = 1)) IS TRUE
  ON CONFLICT (operation_key) DO NOTHING
)
SELECT attempt_id, claims, (extract(epoch FROM deadline_at - now) * 1000)::float8 AS left_ms, (extract(epoch FROM now) * 1000)::float8 AS now_ms,
    CASE WHEN claims > 1 THEN (extract(epoch FROM claimed_at) * 1000)::float8 END AS first_seen_ms, CASE WHEN claims > 1 THEN generation END AS generation,
    CASE WHEN claims > 1 THEN operation_keys END AS operation_keys, CASE WHEN claims > 1 THEN traceparent END AS traceparent,
    CASE WHEN claims > 1 THEN tracestate END AS tracestate, CASE WHEN claims > 1 THEN last_traceparent END AS last_traceparent,
    NULL::json AS met
FROM claimed, clock
UNION ALL
SELECT attempt_id, NULL, NULL, (extract(epoch FROM now) * 1000)::float8, NULL, NULL, NULL, NULL, NULL, NULL,
    (SELECT json_build_array(d.state, ceil(extract(epoch FROM d.next_attempt_at - now) * 1000)) FROM delivery d
      WHERE d.event_id = i.event_id AND d.destination = i.destination)
FROM input i, clock
WHERE (attempt_id IN (SELECT attempt_id FROM claimed)) IS NOT TRUE`;

/** Claims one batch; no two works of it may be the same delivery. What was claimed has its lease, clock, deadline and operations filled in. */
export async function claimBatch<E>(db: Database, works: readonly Work<E>[], leaseMs: number): Promise<ClaimResult[]> {
  const sorted = [...works].sort(byRowOrder);
  const startedAt = performance.now();
  const rows = await db.sql<ClaimRow>('delivery.claim', claimSql, claimValues(sorted, leaseMs));
  const byAttempt = new Map(rows.map((row) => [row.attempt_id, row]));
  const again: Taken<E>[] = [];
  for (const work of works) {
    const row = byAttempt.get(work.attemptId);
    if (!row?.claims) continue;
    applyClaim(work, row, { startedAt, leaseMs });
    if (row.claims > 1) again.push({ work, row });
  }
  if (again.length > 0) await reopen(db, again);
  return works.map((work) => resultOf(byAttempt.get(work.attemptId)));
}

function claimValues(works: readonly Work<unknown>[], leaseMs: number): unknown[] {
  const operations = works.flatMap((work) => work.plan.operations.map((operation) => ({ work, operation })));
  return [...columnValues(deliveryColumns, works), ...columnValues(operationColumns, operations), leaseMs];
}

function resultOf(row: ClaimRow | undefined): ClaimResult {
  if (row?.claims) return { kind: 'claimed' };
  // Inserted by another claim at this very moment.
  if (!row?.met) return { kind: 'leased' };
  const [state, waitMs] = row.met;
  if (state === 'in_flight') return { kind: 'leased' };
  if (state === 'pending' || state === 'waiting') return { kind: 'not_due', state, waitMs: Math.max(waitMs, 1) };
  return { kind: 'closed', state };
}
