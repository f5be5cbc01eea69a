import { metrics } from '#runtime';
import type { Figures } from '../figures.js';

/** From the approval. The law gives a month from the request, and this leaves three weeks of it to whoever is told. */
export const taskDueDays = 7;

/** A notification is named by its recipient's hash, which is no label. */
const sql = `
SELECT CASE WHEN position('/' IN destination) > 0 THEN 'notification' ELSE destination END AS destination, count(*)::int AS count
FROM erasure JOIN erasure_task USING (erasure_id)
WHERE state IN ('running', 'tasks') AND approved_at < clock_now() - interval '${taskDueDays} days' AND done_at IS NULL GROUP BY 1`;

/** Records at destinations that approved erasures name and that are not deleted {@link taskDueDays} after the approval. */
export const overdueTasks: Figures<{ destination: string; count: number }> = {
  name: 'operator.overdue_tasks',
  text: sql,
  gauges: [metrics.erasureTasksOverdue],
  set: ({ destination, count }) => metrics.erasureTasksOverdue.set({ destination }, count),
  counted: 'Overdue tasks of erasures',
};
