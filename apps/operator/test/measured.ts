import type { Database, Sql } from '#runtime';

/** What was slowest, by name. */
export interface Measured {
  db: Database;
  statementMs: Map<string, number>;
  transactionMs: number[];
}

/** A database that notes how long each statement took at most, and each transaction. */
export function measured(db: Database): Measured {
  const statementMs = new Map<string, number>();
  const transactionMs: number[] = [];
  const timed = (inner: Sql): Sql => ({
    sql: async <R>(name: string, text: string, values: readonly unknown[]): Promise<R[]> => {
      const begun = performance.now();
      try {
        return await inner.sql<R>(name, text, values);
      } finally {
        statementMs.set(name, Math.max(statementMs.get(name) ?? 0, performance.now() - begun));
      }
    },
  });
  const transaction = async <T>(fn: (tx: Sql) => Promise<T>): Promise<T> => {
    const begun = performance.now();
    try {
      return await db.transaction((tx) => fn(timed(tx)));
    } finally {
      transactionMs.push(performance.now() - begun);
    }
  };
  return { db: { ...timed(db), transaction, dataSource: db.dataSource, close: () => db.close() }, statementMs, transactionMs };
}
