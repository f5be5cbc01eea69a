import { z } from 'zod';
import type { BatchStatesAnswer } from '#delivery';
import type { Sql } from '#runtime';

export const batchStatesRequest = z.strictObject({});

/** To the services a canary is a batch that runs, and so is a correction, whose item is a batch of its own. */
const openSql = `
SELECT clock_now() AS as_of, batch_id, state FROM (SELECT 1) one LEFT JOIN (
  SELECT batch_id, state FROM replay_batch WHERE state IN ('canary', 'running', 'paused')
  UNION ALL SELECT correction_id, 'running' FROM correction WHERE state IN ('approved', 'sent')
) AS open ON true`;

/** Handler of POST /internal/v1/batches:state: every batch that has begun and not ended. Services ask before each claim of a replayed record. */
export function batchStatesRoute(db: Sql): () => Promise<BatchStatesAnswer> {
  return async () => {
    const rows = await db.sql<{ as_of: Date; batch_id: string | null; state: string }>('operator.batch_states', openSql, []);
    return {
      as_of: (rows[0]?.as_of ?? new Date(0)).toISOString(),
      items: rows.flatMap(({ batch_id, state }) =>
        batch_id === null ? [] : [{ batch_id, state: state === 'paused' ? 'paused' : 'running' }],
      ),
    };
  };
}
