import { metrics } from '#runtime';
import type { Figures } from '../figures.js';

/**
 * A paused batch counts until somebody resumes or stops it, or its time is over; one that has stopped has no such end, so it counts for a day.
 * A batch ends well within three weeks of its draft (a week until it is approved, a day until its deadline), so that the index by creation
 * finds it.
 */
export const haltedSql = `
SELECT state, coalesce(why, 'unknown') AS reason, count(*)::int AS count FROM (
  SELECT state, why FROM replay_batch
  WHERE state IN ('approved', 'canary', 'running', 'paused') AND state = 'paused' AND why IS DISTINCT FROM 'by_person'
  UNION ALL
  SELECT state, why FROM replay_batch
  WHERE created_at BETWEEN (SELECT clock_now() - interval '21 days') AND (SELECT clock_now())
    AND state = 'stopped' AND ended_by = 'runner' AND ended_at > clock_now() - interval '1 day'
) halted GROUP BY 1, 2`;

/** Replay batches that a rule has paused or stopped, by its code. What a person paused or stopped, that person knows of. */
export const halted: Figures<{ state: string; reason: string; count: number }> = {
  name: 'operator.halted_batches',
  text: haltedSql,
  gauges: [metrics.replayBatchesHalted],
  set: ({ state, reason, count }) => metrics.replayBatchesHalted.set({ state, reason }, count),
  counted: 'Halted replay batches',
};
