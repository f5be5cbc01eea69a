import type { DataSource, DataSourceOptions } from 'typeorm';

/** Runs a named prepared statement. `name` is unique per text (its plan is kept per connection). */
export interface Sql {
  /**
   * Rows of the statement; int8 and numeric arrive as text, timestamptz as Date (microseconds cut).
   * Throws DatabaseUnavailable (gone, too slow, pool exhausted) or the driver's error with its SQLSTATE in `code`.
   */
  sql<R>(name: string, text: string, values: readonly unknown[]): Promise<R[]>;
}

export type Tx = Sql;

export interface Database extends Sql {
  readonly dataSource: DataSource;
  /** Commits when `fn` resolves, rolls back when it rejects. Use only `tx` inside, never the database: the pool is small. */
  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url: string;
  /** Role taken on by every connection; the login user needs only membership in it. */
  role: string;
  schema: string;
  /** Default 4: about twice the cores. */
  poolSize?: number;
  applicationName: string;
  /** Default 5,000. The client gives up one second later, for a server that does not answer at all. */
  statementTimeoutMs?: number;
  /** How long to wait for a free connection; default 2,000. */
  acquireTimeoutMs?: number;
  entities?: DataSourceOptions['entities'];
  migrations?: DataSourceOptions['migrations'];
}

/** Opens one TypeORM DataSource; raw statements run on its own pg pool. Throws DatabaseUnavailable when the server cannot be reached. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  void options;
  throw new Error('not implemented');
}
