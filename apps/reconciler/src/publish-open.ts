import { type Logger, metrics, type Sql } from '#runtime';
import { bySchedule } from './runs/start-run.js';

/** Without messages that came late: they can be learnt from, and need nobody's hand. */
const openSql = `
SELECT destination, class, count(*)::int AS count FROM discrepancy
WHERE state IN ('open', 'repairing', 'repair_failed') AND aspect IS DISTINCT FROM 'told_late' GROUP BY destination, class`;
/** A part that a person asked for is no comparison of the destination. */
const lastSql = `
SELECT destination, (extract(epoch FROM max(finished_at)))::float8 AS at FROM run
WHERE state = 'finished' AND (by_whom = '${bySchedule}' OR (form IS NULL AND campaign IS NULL AND outcome IS NULL)) GROUP BY destination`;

/** Counts what waits for somebody, and when each destination was compared last. Never rejects. @param known destinations of the site file */
export function publishOpen(db: Sql, { known, logger }: { known: readonly string[]; logger: Logger }): () => Promise<void> {
  return async () => {
    try {
      const open = await db.sql<{ destination: string; class: string; count: number }>('reconciler.open', openSql, []);
      const last = await db.sql<{ destination: string; at: number }>('reconciler.last', lastSql, []);
      metrics.discrepanciesOpen.reset();
      // A notification's name is no label: there is one per recipient.
      for (const { destination, class: name, count } of open) {
        metrics.discrepanciesOpen.inc({ destination: known.includes(destination) ? destination : 'other', class: name }, count);
      }
      for (const { destination, at } of last) if (known.includes(destination)) metrics.reconciledAt.set({ destination }, at);
    } catch (err) {
      metrics.discrepanciesOpen.reset();
      logger.debug({ err }, 'Discrepancies cannot be counted');
    }
  };
}
