import { type DeliveryState, deliveryState, type OperationState } from '#contracts';
import { insertOutbox } from '#messaging';
import type { Database, Tx } from '#runtime';
import type { DeliveryRecord } from './record.js';

/** What a record that lost its compare-and-set found. */
export interface LateAnswer {
  /** `repeated`: our own record had got through, its answer was lost. `kept`: appended to the attempts only. `applied`: the reference counts. */
  kind: 'repeated' | 'kept' | 'applied';
  /** Operations that already had another reference: the destination holds two records. */
  secondReference: string[];
}

interface DeliveryRow {
  state: DeliveryState;
  attempt_id: string | null;
  operation_keys: string[];
}

interface OperationRow {
  operation_key: string;
  state: OperationState;
  destination_ref: string | null;
}

/**
 * An answer whose lease was over. Its calls are in `attempt` already; a reference it brought settles the operation all the same, whatever
 * state it was left in, unless another claim is at work on it, which gets the same answer for the same key.
 */
export function settleLate(db: Database, record: DeliveryRecord): Promise<LateAnswer> {
  return db.transaction(async (tx) => {
    const delivery = await lockDelivery(tx, record);
    if (delivery === undefined) return { kind: 'kept', secondReference: [] };
    if (delivery.attempt_id === record.attemptId && delivery.state !== 'in_flight') return { kind: 'repeated', secondReference: [] };
    const operations = await readOperations(tx, delivery.operation_keys);
    const answers = new Map(record.operations.map((operation) => [operation.operationKey, operation]));
    const secondReference = operations.filter((row) => differs(row, answers.get(row.operation_key)?.ref)).map((row) => row.operation_key);
    const proved = operations.filter((row) => row.state !== 'succeeded' && answers.get(row.operation_key)?.state === 'succeeded');
    if (delivery.state === 'in_flight' || proved.length === 0) return { kind: 'kept', secondReference };
    for (const row of proved) await succeed(tx, row, answers.get(row.operation_key)?.ref);
    await conclude(tx, record, operations);
    return { kind: 'applied', secondReference };
  });
}

const differs = (row: OperationRow, ref: string | undefined): boolean =>
  ref !== undefined && row.destination_ref !== null && row.destination_ref !== ref;

async function lockDelivery(tx: Tx, record: DeliveryRecord): Promise<DeliveryRow | undefined> {
  const [row] = await tx.sql<DeliveryRow>(
    'late.delivery',
    'SELECT state, attempt_id, operation_keys FROM delivery WHERE event_id = $1 AND destination = $2 FOR UPDATE',
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

async function succeed(tx: Tx, row: OperationRow, ref: string | undefined): Promise<void> {
  row.state = 'succeeded';
  await tx.sql(
    'late.succeed',
    `UPDATE operation SET state = 'succeeded', destination_ref = coalesce($2, destination_ref), class = NULL, code = NULL,
       updated_at = clock_now() WHERE operation_key = $1`,
    [row.operation_key, ref ?? null],
  );
}

async function conclude(tx: Tx, record: DeliveryRecord, operations: readonly OperationRow[]): Promise<void> {
  const state = deliveryState(operations.map((row) => row.state));
  const delivered = state === 'delivered';
  await tx.sql(
    'late.conclude',
    `UPDATE delivery SET state = $3, attempt_id = NULL, updated_at = clock_now(), class = CASE WHEN $4 THEN NULL ELSE class END,
       code = CASE WHEN $4 THEN NULL ELSE code END, next_attempt_at = CASE WHEN $4 THEN NULL ELSE next_attempt_at END
     WHERE event_id = $1 AND destination = $2`,
    [record.eventId, record.destination, state, delivered],
  );
  if (delivered && record.state === 'delivered') await insertOutbox(tx, record.outbox);
}
