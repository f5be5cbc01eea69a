import type { Sql } from '#runtime';
import type { BatchRow } from '../batch-row.js';
import { SendSchedule } from '../machine/send-schedule.js';

const paceSql = `
SELECT coalesce(extract(epoch FROM clock_now() - paced_to) * 1000, 0)::float8 AS owed_ms, (
    SELECT count(*)::int FROM replay_item i WHERE i.batch_id = b.batch_id AND i.sent_at > clock_now() - interval '1 second') AS lately
FROM replay_batch b WHERE b.batch_id = $1`;

/** The pace of a batch as its row and items say: what whoever ran it before still owes, and what has just gone out. */
export async function takeUpPace(db: Sql, { batch_id, rate_per_s }: BatchRow): Promise<SendSchedule> {
  const [pace] = await db.sql<{ owed_ms: number; lately: number }>('operator.read_pace', paceSql, [batch_id]);
  return new SendSchedule(rate_per_s, performance.now(), { owedMs: Math.max(0, pace?.owed_ms ?? 0), lately: pace?.lately ?? 0 });
}

const holdSql = 'UPDATE replay_batch SET paced_to = NULL WHERE batch_id = $1 AND lease_owner = $2 AND paced_to IS NOT NULL';

/** Notes that nothing falls due, where this runner has the batch: a successor owes nothing either. */
export async function holdPace(db: Sql, batchId: string, runner: string): Promise<void> {
  await db.sql('operator.hold_pace', holdSql, [batchId, runner]);
}
