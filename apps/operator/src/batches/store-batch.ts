import { type Column, columnValues, type Sql, unnestColumns } from '#runtime';
import type { OwningService } from '../dead-letters/letter.js';
import type { Selection } from './candidates.js';

export interface NewItem {
  itemId: string;
  deadLetterId: string;
  eventId: string;
  destination: string;
  service: OwningService;
  originalDeadlineAt?: Date;
}

export interface NewBatch {
  batchId: string;
  approver: string;
  /** The caller of the API that said so. */
  approvedBy: string;
  reason?: string;
  selection: Selection;
  maximum: number;
  notAfter: Date;
  deadlineAt: Date;
}

const columns: readonly Column<NewItem>[] = [
  ['item_id', 'uuid', (row) => row.itemId],
  ['dead_letter_id', 'uuid', (row) => row.deadLetterId],
  ['event_id', 'uuid', (row) => row.eventId],
  ['destination', 'text', (row) => row.destination],
  ['service', 'text', (row) => row.service],
  ['original_deadline_at', 'timestamptz', (row) => row.originalDeadlineAt],
];
const names = columns.map(([name]) => name).join(', ');

/** Rows in the order of their key, so that two approvals at once cannot wait for each other. */
const itemsSql = `
INSERT INTO replay_item (batch_id, state, checked_at, ${names})
SELECT $${columns.length + 1}::uuid, 'open', clock_now(), ${names} FROM ${unnestColumns('input', columns)} ORDER BY event_id, destination
ON CONFLICT (event_id, destination) WHERE state = 'open' DO NOTHING RETURNING item_id`;

const batchSql = `
INSERT INTO replay_batch (batch_id, state, approver, approved_by, reason, selection, maximum, approved_at, not_after, deadline_at)
VALUES ($1, 'running', $2, $3, $4, $5::jsonb, $6, clock_now(), $7, $8)`;

/** Inserts items whose delivery has no open one; gives the ids of those that stand. */
export async function insertItems(tx: Sql, batchId: string, items: readonly NewItem[]): Promise<string[]> {
  const rows = await tx.sql<{ item_id: string }>('operator.insert_items', itemsSql, [...columnValues(columns, items), batchId]);
  return rows.map(({ item_id }) => item_id);
}

export async function insertBatch(tx: Sql, batch: NewBatch): Promise<void> {
  const { batchId, approver, approvedBy, reason = null, selection, maximum, notAfter, deadlineAt } = batch;
  const values = [batchId, approver, approvedBy, reason, JSON.stringify(selection), maximum, notAfter, deadlineAt];
  await tx.sql('operator.insert_batch', batchSql, values);
}
