import { type DeliveryState, deliveryState, type OperationState } from '#contracts';
import { insertOutbox } from '#messaging';
import type { Database, Tx } from '#runtime';
import { wakeRow } from '../wake-row.js';
import { type DeliveryRecord, holdsAnotherLate } from './record.js';

/** What a record that lost its compare-and-set found. */
export interface LateAnswer {
  /** `repeated`: our own record had got through, its answer was lost. `kept`: appended to the attempts only. `applied`: the reference counts. */
  kind: 'repeated' | 'kept' | 'applied';
  /** Operations of which another reference is known, from their row or from another late answer: the destination holds two records. */
  secondReference: string[];
}

interface DeliveryRow {
  state: DeliveryState;
  attempt_id: string | null;
  operation_keys: string[];
  record_key: Buffer | null;
  event: Buffer;
  deadline_ms: number;
  generation: number;
  /** Later than anything that was announced of it. */
  now_ms: number;
  traceparent: string | null;
  tracestate: string | null;
}

interface OperationRow {
  operation_key: string;
  state: OperationState;
  destination_ref: string | null;
}

/**
 * An answer whose lease was over. Its calls are in `attempt` already; a reference it brought settles the operation all the same, whatever
 * state it was left in, unless another claim is at work on it, which gets the same answer for the same key. What is left to do of the
 * delivery is woken on `wakeTopic`.
 */
export function settleLate(db: Database, record: DeliveryRecord, wakeTopic: string): Promise<LateAnswer> {
  return db.transaction(async (tx) => {
    const delivery = await lockDelivery(tx, record);
    if (delivery === undefined) return { kind: 'kept', secondReference: [] };
    if (delivery.attempt_id === record.attemptId && delivery.state !== 'in_flight') return { kind: 'repeated', secondReference: [] };
    const operations = await readOperations(tx, delivery.operation_keys);
    const answers = new Map(record.operations.map((operation) => [operation.operationKey, operation]));
    const late = await readLate(tx, record);
    const second = (row: OperationRow) => late.has(row.operation_key) || differs(row, answers.get(row.operation_key)?.ref);
    const secondReference = operations.filter(second).map((row) => row.operation_key);
    const proved = operations.filter((row) => row.state !== 'succeeded' && answers.get(row.operation_key)?.state === 'succeeded');
    if (delivery.state === 'in_flight' || proved.length === 0) return { kind: 'kept', secondReference };
    for (const row of proved) await succeed(tx, row, answers.get(row.operation_key)?.ref);
    await conclude(tx, { record, delivery, operations, wakeTopic });
    return { kind: 'applied', secondReference };
  });
}

const differs = (row: OperationRow, ref: string | undefined): boolean =>
  ref !== undefined && row.destination_ref !== null && row.destination_ref !== ref;

async function lockDelivery(tx: Tx, record: DeliveryRecord): Promise<DeliveryRow | undefined> {
  const [row] = await tx.sql<DeliveryRow>(
    'late.delivery',
    `SELECT state, attempt_id, operation_keys, record_key, event, generation, traceparent, tracestate,
       (extract(epoch FROM deadline_at) * 1000)::float8 AS deadline_ms,
       ceil(extract(epoch FROM greatest(clock_now(), updated_at + interval '1 millisecond')) * 1000)::float8 AS now_ms
     FROM delivery WHERE event_id = $1 AND destination = $2 FOR UPDATE`,
    [record.eventId, record.destination],
  );
  return row;
}

const readOperations = (tx: Tx, keys: readonly string[]): Promise<OperationRow[]> =>
  tx.sql<OperationRow>(
    'late.operations',
    'SELECT operation_key, state, destination_ref FROM operation WHERE operation_key = ANY ($1::text[]) FOR UPDATE',
    [keys],
  );

/** Operations of which another call that lost its claim brought another reference. */
async function readLate(tx: Tx, { operations }: DeliveryRecord): Promise<ReadonlySet<string>> {
  const brought = operations.filter(({ ref }) => ref !== undefined);
  if (brought.length === 0) return new Set();
  const rows = await tx.sql<{ operation_key: string }>(
    'late.others',
    `SELECT i.operation_key FROM unnest($1::text[], $2::text[]) AS i(operation_key, ref) WHERE ${holdsAnotherLate('i')}`,
    [brought.map(({ operationKey }) => operationKey), brought.map(({ ref }) => ref)],
  );
  return new Set(rows.map((row) => row.operation_key));
}

async function succeed(tx: Tx, row: OperationRow, ref: string | undefined): Promise<void> {
  row.state = 'succeeded';
  await tx.sql(
    'late.succeed',
    `UPDATE operation SET state = 'succeeded', destination_ref = coalesce($2, destination_ref), class = NULL, code = NULL,
       updated_at = clock_now() WHERE operation_key = $1`,
    [row.operation_key, ref ?? null],
  );
}

interface Settled {
  record: DeliveryRecord;
  delivery: DeliveryRow;
  operations: readonly OperationRow[];
  wakeTopic: string;
}

/**
 * Only the record that found all done brought the announcement; otherwise the next claim goes on, or finds nothing left and announces. It is
 * dated now: whoever reads the results takes the latest for true, and since the call began another may have been announced, such as `dead`.
 */
async function conclude(tx: Tx, { record, delivery, operations, wakeTopic }: Settled): Promise<void> {
  const worst = deliveryState(operations.map((row) => row.state));
  const announced = worst === 'delivered' && record.state === 'delivered';
  const open = worst === 'delivered' || worst === 'pending' || worst === 'waiting';
  const state = announced ? 'delivered' : open ? 'waiting' : worst;
  await tx.sql(
    'late.conclude',
    `UPDATE delivery SET state = $3, attempt_id = NULL, lease_until = NULL, updated_at = clock_now(), class = CASE WHEN $4 THEN NULL ELSE class END,
       code = CASE WHEN $4 THEN NULL ELSE code END, raised_at = CASE WHEN $3 = 'uncertain' THEN raised_at END,
       next_attempt_at = CASE WHEN $3 = 'waiting' THEN clock_now() WHEN NOT $4 THEN next_attempt_at END
     WHERE event_id = $1 AND destination = $2`,
    [record.eventId, record.destination, state, open],
  );
  const as = { resolvedAt: new Date(delivery.now_ms), generation: delivery.generation };
  if (announced) await insertOutbox(tx, record.announcedAt?.(as) ?? record.outbox);
  else if (open) await insertOutbox(tx, [wakeOf(record, delivery, wakeTopic)]);
}

function wakeOf({ eventId, destination }: DeliveryRecord, row: DeliveryRow, topic: string) {
  const { record_key: key, event: value, deadline_ms: deadlineAtMs, traceparent, tracestate } = row;
  const trace = { traceparent: traceparent ?? undefined, tracestate: tracestate ?? undefined };
  return wakeRow({ topic, key, value, eventId, destination, deadlineAtMs, ...trace });
}
