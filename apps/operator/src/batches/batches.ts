import { z } from 'zod';
import type { BatchStatesAnswer, OpenBatchState } from '#delivery';
import type { Sql } from '#runtime';

export const batchStatesRequest = z.strictObject({});

const openSql = `
SELECT clock_now() AS as_of, batch_id, state FROM (SELECT 1) one LEFT JOIN replay_batch ON state IN ('running', 'paused')`;

/** Handler of POST /internal/v1/batches:state: every batch that has not ended. Services ask before each claim of a replayed record. */
export function batchStatesRoute(db: Sql): () => Promise<BatchStatesAnswer> {
  return async () => {
    const rows = await db.sql<{ as_of: Date; batch_id: string | null; state: OpenBatchState }>('operator.batch_states', openSql, []);
    return {
      as_of: (rows[0]?.as_of ?? new Date(0)).toISOString(),
      items: rows.flatMap(({ batch_id, state }) => (batch_id === null ? [] : [{ batch_id, state }])),
    };
  };
}

export const batchRequest = z.strictObject({ batch_id: z.uuid() });
export const stopRequest = z.strictObject({ batch_id: z.uuid(), by: z.string().trim().min(1).max(100) });

export interface BatchItem {
  item_id: string;
  event_id: string;
  destination: string;
  /** open, succeeded, failed, ended or not_applied */
  state: string;
  original_deadline_at: string | null;
  closed_at: string | null;
}

export interface BatchReport {
  batch_id: string;
  /** running, paused, stopped or finished */
  state: string;
  approver: string;
  approved_by: string;
  reason: string | null;
  selection: object;
  maximum: number;
  approved_at: string;
  not_after: string;
  deadline_at: string;
  ended_at: string | null;
  ended_by: string | null;
  items: BatchItem[];
}

const reportSql = `
SELECT b.batch_id, b.state, b.approver, b.approved_by, b.reason, b.selection, b.maximum, b.approved_at, b.not_after, b.deadline_at, b.ended_at,
  b.ended_by, (
    SELECT json_agg(json_build_object('item_id', i.item_id, 'event_id', i.event_id, 'destination', i.destination, 'state', i.state,
      'original_deadline_at', i.original_deadline_at, 'closed_at', i.closed_at) ORDER BY i.event_id)
    FROM replay_item i WHERE i.batch_id = b.batch_id
  ) AS items
FROM replay_batch b WHERE b.batch_id = $1`;

/** A batch with what became of each item; undefined where there is no such batch. */
export async function readBatch(db: Sql, batchId: string): Promise<BatchReport | undefined> {
  const [batch] = await db.sql<BatchReport>('operator.batch', reportSql, [batchId]);
  return batch;
}

const stopSql = `
UPDATE replay_batch SET state = 'stopped', ended_at = clock_now(), ended_by = $2 WHERE batch_id = $1 AND state IN ('running', 'paused')
RETURNING batch_id`;

/** No further item of the batch is claimed: every service knows within 5 s. True when it had not ended before. */
export async function stopBatch(db: Sql, { batch_id, by }: z.infer<typeof stopRequest>): Promise<boolean> {
  return (await db.sql('operator.stop_batch', stopSql, [batch_id, by])).length > 0;
}
