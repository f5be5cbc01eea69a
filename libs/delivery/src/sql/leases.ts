import type { Database } from '#runtime';
import { byRowOrder, type Work } from '../work.js';

const clock = 'WITH clock AS MATERIALIZED (SELECT clock_now() AS now)';
const held = 'd.event_id = i.event_id AND d.destination = i.destination AND d.attempt_id = i.attempt_id';
const input = 'unnest($1::uuid[], $2::uuid[], $3::text[]) AS i(attempt_id, event_id, destination)';

/** Leases of what is in flight, reservations of what is kept in memory while its target is paused. */
const renewSql = `${clock}
UPDATE delivery d
SET lease_until = CASE WHEN d.state = 'in_flight' THEN now + $4::float8 * interval '1 millisecond' END,
    next_attempt_at = CASE WHEN d.state = 'pending' THEN now + $4::float8 * interval '1 millisecond' END
FROM ${input}, clock
WHERE ${held} AND d.state IN ('in_flight', 'pending')
RETURNING d.attempt_id`;

const releaseSql = `${clock},
released AS (
  UPDATE delivery d
  SET state = 'pending', lease_until = NULL, next_attempt_at = now + $4::float8 * interval '1 millisecond', updated_at = now
  FROM ${input}, clock
  WHERE ${held} AND d.state = 'in_flight'
  RETURNING d.attempt_id
),
operations AS (
  UPDATE operation o SET state = 'pending', sending_at = CASE WHEN i.keeps_sent THEN o.sending_at END, updated_at = now
  FROM unnest($5::uuid[], $6::text[], $7::boolean[]) AS i(attempt_id, operation_key, keeps_sent), clock
  WHERE o.operation_key = i.operation_key AND o.state = 'in_flight' AND (i.attempt_id IN (SELECT attempt_id FROM released)) IS TRUE
)
SELECT attempt_id FROM released`;

const markSql = `${clock}
UPDATE operation o SET sending_at = now
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $5::text[], $4::float8[]) AS i(attempt_id, event_id, destination, operation_key, timeout_ms)
  JOIN delivery d ON ${held} AND d.state = 'in_flight', clock
WHERE o.operation_key = i.operation_key AND o.state = 'in_flight' AND d.lease_until > now + i.timeout_ms * interval '1 millisecond'
RETURNING o.operation_key`;

type Held = readonly Work<unknown>[];

const identity = (works: Held): unknown[] => [
  works.map((work) => work.attemptId),
  works.map((work) => work.plan.eventId),
  works.map((work) => work.plan.destination),
];

const answered = async (rows: Promise<{ attempt_id: string }[]>): Promise<Set<string>> =>
  new Set((await rows).map((row) => row.attempt_id));

/** Lengthens what these works hold to a full lease from now. Gives the attempt ids that still held it; the rest is lost. */
export function renew(db: Database, works: Held, leaseMs: number): Promise<Set<string>> {
  const sorted = [...works].sort(byRowOrder);
  return answered(db.sql('delivery.renew', renewSql, [...identity(sorted), leaseMs]));
}

/**
 * Gives claims back before anything was sent: `pending` again, no attempt counted, reserved for this process for one lease. A mark is taken
 * away, unless it is that of an earlier call which may have been executed.
 */
export function release(db: Database, works: Held, leaseMs: number): Promise<Set<string>> {
  const sorted = [...works].sort(byRowOrder);
  const operations = sorted.flatMap((work) => work.operations.map((operation) => ({ work, operation })));
  return answered(
    db.sql('delivery.release', releaseSql, [
      ...identity(sorted),
      leaseMs,
      operations.map(({ work }) => work.attemptId),
      operations.map(({ operation }) => operation.operationKey),
      operations.map(({ operation }) => operation.sentAtMs !== undefined),
    ]),
  );
}

export interface Mark {
  work: Work<unknown>;
  operationKey: string;
  /** Of the call about to be made: the lease must outlive it. */
  timeoutMs: number;
}

/** Notes that these operations are about to be sent. Gives the operation keys that may be: the others' lease is gone or too short. */
export async function markSending(db: Database, marks: readonly Mark[]): Promise<Set<string>> {
  const sorted = [...marks].sort((a, b) => byRowOrder(a.work, b.work));
  const rows = await db.sql<{ operation_key: string }>('operation.mark', markSql, [
    ...identity(sorted.map(({ work }) => work)),
    sorted.map(({ timeoutMs }) => timeoutMs),
    sorted.map(({ operationKey }) => operationKey),
  ]);
  return new Set(rows.map((row) => row.operation_key));
}
