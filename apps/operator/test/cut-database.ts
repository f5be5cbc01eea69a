import { type Database, DatabaseUnavailable, type Sql } from '#runtime';

/** Runs `then` once, behind the first statement of that name and before whatever comes next in its transaction. */
export function interrupted(db: Database, name: string, then: () => Promise<unknown>): Database {
  let done = false;
  return watching(db, async (statement) => {
    if (done || statement !== name) return;
    done = true;
    await then();
  });
}

/** A connection that is cut behind so many statements: an open transaction is lost, and nothing goes through any more. */
export function cutAfter(db: Database, statements: number): { db: Database; count(): number } {
  let count = 0;
  const cut = watching(
    db,
    async () => {
      count += 1;
    },
    () => {
      if (count >= statements) throw new DatabaseUnavailable('08006');
    },
  );
  return { db: cut, count: () => count };
}

function watching(db: Database, after: (name: string) => Promise<void>, before: () => void = () => undefined): Database {
  const watched = (inner: Sql): Sql => ({
    sql: async <R>(name: string, text: string, values: readonly unknown[]): Promise<R[]> => {
      before();
      const rows = await inner.sql<R>(name, text, values);
      await after(name);
      return rows;
    },
  });
  return {
    ...watched(db),
    dataSource: db.dataSource,
    transaction: (fn) =>
      db.transaction(async (tx) => {
        const result = await fn(watched(tx));
        before();
        return result;
      }),
    close: () => db.close(),
  };
}
