import type { Logger, Sql } from '#runtime';

/** What one statement says to some gauges. */
export interface Figures<Row> {
  /** Of the statement. */
  name: string;
  text: string;
  gauges: readonly { reset(): void }[];
  set(row: Row): void;
  /** `X could not be counted`, where it fails. */
  counted: string;
}

/** Sets the gauges anew, from the statement's rows alone. Never rejects: where the database does not answer they stay, and it is logged. */
export function publish<Row>({ name, text, gauges, set, counted }: Figures<Row>, db: Sql, logger: Logger): () => Promise<void> {
  return async () => {
    try {
      const rows = await db.sql<Row>(name, text, []);
      for (const gauge of gauges) gauge.reset();
      for (const row of rows) set(row);
    } catch (err) {
      logger.warn({ err }, `${counted} could not be counted`);
    }
  };
}
