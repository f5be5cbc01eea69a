import { type Column, columnValues, type Tx, unnestColumns } from '#runtime';
import type { PlannedOperation } from '../target.js';
import { clock } from './stored.js';

/** A delivery that was never claimed and is past its deadline, as intake hands it over. */
export interface Unclaimed {
  eventId: string;
  destination: string;
  leadRef: string;
  submittedAt: Date;
  deadlineAt: Date;
  test: boolean;
  recordKey: Buffer | null;
  event: Buffer;
  traceparent?: string;
  operations: readonly PlannedOperation[];
}

const deliveryColumns: readonly Column<Unclaimed>[] = [
  ['event_id', 'uuid', ({ eventId }) => eventId],
  ['destination', 'text', ({ destination }) => destination],
  ['lead_ref', 'text', ({ leadRef }) => leadRef],
  ['submitted_at', 'timestamptz', ({ submittedAt }) => submittedAt],
  ['deadline_at', 'timestamptz', ({ deadlineAt }) => deadlineAt],
  ['test', 'bool', ({ test }) => test],
  ['operation_keys', 'text', ({ operations }) => operations.map(({ operationKey }) => operationKey).join('\n')],
  ['traceparent', 'text', ({ traceparent }) => traceparent],
  ['record_key', 'bytea', ({ recordKey }) => recordKey],
  ['event', 'bytea', ({ event }) => event],
];

interface NewOperation {
  of: Unclaimed;
  operation: PlannedOperation;
}

const operationColumns: readonly Column<NewOperation>[] = [
  ['operation_key', 'text', ({ operation }) => operation.operationKey],
  ['event_id', 'uuid', ({ of }) => of.eventId],
  ['destination', 'text', ({ of }) => of.destination],
  ['kind', 'text', ({ operation }) => operation.kind],
];

const firstOperation = 1 + deliveryColumns.length;

/** Rows that exist are left alone; so is what is not past its deadline by this database's clock. */
const expireSql = `${clock},
input AS MATERIALIZED (SELECT * FROM ${unnestColumns('i', deliveryColumns)}),
expired AS (
  INSERT INTO delivery (event_id, destination, state, class, code, submitted_at, deadline_at, claimed_at, updated_at, test, lead_ref,
    operation_keys, traceparent, record_key, event)
  SELECT event_id, destination, 'expired', 'deadline_exceeded', 'deadline', submitted_at, deadline_at, now, now, test, lead_ref,
    string_to_array(operation_keys, E'\\n'), traceparent, record_key, event
  FROM input, clock WHERE deadline_at <= now
  ORDER BY event_id, destination
  ON CONFLICT DO NOTHING
  RETURNING event_id, destination
),
operations AS (
  INSERT INTO operation (operation_key, event_id, destination, kind, state, class, code, updated_at)
  SELECT o.operation_key, o.event_id, o.destination, o.kind, 'expired', 'deadline_exceeded', 'deadline', now
  FROM ${unnestColumns('o', operationColumns, firstOperation)} JOIN expired USING (event_id, destination), clock
  ON CONFLICT (operation_key) DO NOTHING
)
SELECT i.event_id, i.destination, i.deadline_at <= now AS past, e.event_id IS NOT NULL AS expired, now
FROM clock, input i LEFT JOIN expired e USING (event_id, destination)`;

export interface ExpiredRow {
  event_id: string;
  destination: string;
  past: boolean;
  /** Inserted by this statement. */
  expired: boolean;
  now: Date;
}

/** Inserts deliveries as expired, with their operations. No two may be the same. */
export function insertExpired(tx: Tx, unclaimed: readonly Unclaimed[]): Promise<ExpiredRow[]> {
  const operations = unclaimed.flatMap((of) => of.operations.map((operation) => ({ of, operation })));
  return tx.sql<ExpiredRow>('expire.insert', expireSql, [
    ...columnValues(deliveryColumns, unclaimed),
    ...columnValues(operationColumns, operations),
  ]);
}
