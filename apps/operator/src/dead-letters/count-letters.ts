import { metrics } from '#runtime';
import type { Figures } from '../figures.js';
import type { StoredLetter } from './store-letters.js';

/** A notification is named by its recipient's hash, which is no label. */
const labelOf = (destination: string | null): string =>
  destination === null ? 'none' : destination.includes('/') ? 'notification' : destination;

/** Counts letters that are new. An alert is on that, so test leads are left out, as in the depth below. */
export function countStored(letters: readonly StoredLetter[]): void {
  for (const { destination, class: failure, test } of letters)
    if (!test) metrics.deadLetters.inc({ destination: labelOf(destination), error_class: failure });
}

interface Depth {
  destination: string | null;
  class: string;
  open: string;
  submitted_seconds: number;
  dead_seconds: number;
  overdue: string;
}

const sql = `
WITH by_kind AS MATERIALIZED (
  SELECT kind_id, count(*) AS count, count(*) FILTER (WHERE respond_by < clock_now()) AS overdue, min(age_from) AS age_from, min(dead_at) AS dead_at
  FROM open_letter_times GROUP BY kind_id)
SELECT CASE WHEN position('/' IN destination) > 0 THEN 'notification' ELSE destination END AS destination, class, sum(count) AS open,
  coalesce(extract(epoch FROM clock_now() - min(age_from)), 0)::float8 AS submitted_seconds,
  coalesce(extract(epoch FROM clock_now() - min(dead_at)), 0)::float8 AS dead_seconds,
  sum(overdue) AS overdue
FROM by_kind JOIN letter_kind USING (kind_id) WHERE NOT test GROUP BY 1, 2`;

/** Depth and oldest age of what is open, by both ages: since the lead was submitted and since it was handed over. Test leads are left out. */
export const depth: Figures<Depth> = {
  name: 'operator.depth',
  text: sql,
  gauges: [metrics.deadLettersOpen, metrics.deadLettersOverdue, metrics.deadLetterOldestAge],
  set: (row) => {
    const labels = { destination: labelOf(row.destination), error_class: row.class };
    metrics.deadLettersOpen.set(labels, Number(row.open));
    metrics.deadLettersOverdue.set(labels, Number(row.overdue));
    metrics.deadLetterOldestAge.set({ ...labels, since: 'submitted' }, row.submitted_seconds);
    metrics.deadLetterOldestAge.set({ ...labels, since: 'handed_over' }, row.dead_seconds);
  },
  counted: 'Open dead letters',
};
