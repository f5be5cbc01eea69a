import { type Logger, metrics, type Sql } from '#runtime';

const openSql = `
SELECT destination, class, count(*)::int AS count FROM discrepancy WHERE state IN ('open', 'repairing', 'repair_failed') GROUP BY destination, class`;
const lastSql = `SELECT destination, (extract(epoch FROM max(finished_at)))::float8 AS at FROM run WHERE state = 'finished' GROUP BY destination`;

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
