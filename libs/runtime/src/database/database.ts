import type pg from 'pg';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { ConfigError } from '../config/config-error.js';
import { onScrape } from '../metrics/expose.js';
import { metrics } from '../metrics/metrics.js';
import { DatabaseUnavailable, StatementFailed, toDatabaseError } from './database-errors.js';
import { silentLogger } from './silent-logger.js';
import { checkOut, runStatement, type Statement } from './statements.js';

/** Runs named prepared statements. */
export interface Sql {
  /**
   * Rows of the statement. `name` belongs to one text (the plan is kept per connection). int8 and numeric arrive as text, timestamptz as
   * Date (microseconds cut). Throws DatabaseUnavailable (gone, too slow, pool exhausted) or StatementFailed.
   */
  sql<R>(name: string, text: string, values: readonly unknown[]): Promise<R[]>;
}

export type Tx = Sql;

export interface Database extends Sql {
  /** For migrations and rare queries. Errors of its methods carry parameters: never log or show them unreduced. */
  readonly dataSource: DataSource;
  /**
   * Commits when `fn` resolves, rolls back when it rejects. Use only `tx` inside, never the database: the pool is small.
   * DatabaseUnavailable from here leaves open whether the commit happened.
   */
  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T>;
  /** Waits for connections in use, then closes all. */
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
  /** How long to wait for a free or new connection; default 2,000. */
  acquireTimeoutMs?: number;
  /** Server settings of every connection, e.g. of the planner. */
  settings?: Record<string, string | number>;
  entities?: DataSourceOptions['entities'];
  migrations?: DataSourceOptions['migrations'];
}

const clientGraceMs = 1_000;
/** A transaction whose process hangs gives its row locks back after this. */
const idleInTransactionMs = 30_000;
const idleConnectionMs = 60_000;

/**
 * Opens one TypeORM DataSource; raw statements run on its own pg pool. A backend that is killed, idle or in use, never ends the process.
 * Throws DatabaseUnavailable when the server cannot be reached, ConfigError when it refuses the user, role or database.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const dataSource = new DataSource(dataSourceOptions(options));
  try {
    await dataSource.initialize();
  } catch (error) {
    throw refusedLogin(toDatabaseError(error), options.role);
  }
  const pool = poolOf(dataSource);
  const forgetPool = onScrape(() => reportPool(pool));
  return {
    dataSource,
    sql: (name, text, values) => single(pool, { name, text, values }),
    transaction: (fn) => transaction(pool, fn),
    close: async () => {
      forgetPool();
      await dataSource.destroy();
    },
  };
}

function dataSourceOptions(options: DatabaseOptions): DataSourceOptions {
  const { url, role, schema, applicationName, entities, migrations } = options;
  const statementTimeoutMs = options.statementTimeoutMs ?? 5_000;
  const settings = {
    role,
    search_path: schema,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    ...options.settings,
  };
  return {
    type: 'postgres',
    url,
    schema,
    applicationName,
    poolSize: options.poolSize ?? 4,
    connectTimeoutMS: options.acquireTimeoutMs ?? 2_000,
    installExtensions: false,
    logger: silentLogger,
    poolErrorHandler: () => {},
    entities,
    migrations,
    extra: {
      options: startupOptions(settings),
      query_timeout: statementTimeoutMs + clientGraceMs,
      idleTimeoutMillis: idleConnectionMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      // A connection in use has no error listener of the pool's; without one its death is an uncaught exception.
      onConnect: (client: pg.PoolClient) => client.on('error', () => {}),
    },
  };
}

/** `-c name=value …` for the connection's startup packet: no extra round trip, and every connection has it from its first statement. */
export function startupOptions(settings: Record<string, string | number>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${String(value).replaceAll(/[\\ ]/g, '\\$&')}`)
    .join(' ');
}

function poolOf(dataSource: DataSource): pg.Pool {
  return (dataSource.driver as unknown as { master: pg.Pool }).master;
}

async function single<R>(pool: pg.Pool, statement: Statement): Promise<R[]> {
  const { client, release } = await checkOut(pool);
  let broken = true;
  try {
    const rows = await runStatement<R>(client, statement);
    broken = false;
    return rows;
  } catch (error) {
    broken = isBroken(error);
    throw error;
  } finally {
    release(broken);
  }
}

const plain = (text: string): Statement => ({ name: text, text, values: [] });
const [begin, commit, rollback] = [plain('begin'), plain('commit'), plain('rollback')];

async function transaction<T>(pool: pg.Pool, fn: (tx: Tx) => Promise<T>): Promise<T> {
  const { client, release } = await checkOut(pool);
  let broken = true;
  try {
    await runStatement(client, begin);
    const result = await fn({ sql: (name, text, values) => runStatement(client, { name, text, values }) });
    await runStatement(client, commit);
    broken = false;
    return result;
  } catch (error) {
    broken = isBroken(error) || !(await rolledBack(client));
    throw error;
  } finally {
    release(broken);
  }
}

/** Stale plans (0A000 after a migration, 26000 behind a pooler) belong to the connection: a new one has none. */
function isBroken(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  return error instanceof StatementFailed && (error.code === '0A000' || error.code === '26000');
}

async function rolledBack(client: pg.PoolClient): Promise<boolean> {
  return runStatement(client, rollback).then(
    () => true,
    () => false,
  );
}

function reportPool(pool: pg.Pool): void {
  metrics.pgPoolWaiting.set(pool.waitingCount);
  metrics.pgPool.set({ state: 'idle' }, pool.idleCount);
  metrics.pgPool.set({ state: 'in_use' }, pool.totalCount - pool.idleCount);
}

const loginProblems: Record<string, { problem: string; fix: string }> = {
  '22023': { problem: 'names a role that does not exist', fix: 'Run the migrations first' },
  '42501': { problem: 'names a role the login user may not take on', fix: 'Grant the login user membership in it' },
  '28000': { problem: 'has a user that PostgreSQL refuses', fix: 'Correct the user, or allow it in pg_hba.conf' },
  '28P01': { problem: 'has a wrong password', fix: 'Correct it' },
  '3D000': { problem: 'names a database that does not exist', fix: 'Create it, then run the migrations' },
};

function refusedLogin(error: Error, role: string): Error {
  if (!(error instanceof StatementFailed)) return error;
  const known = loginProblems[error.code];
  if (known === undefined) return error;
  const path = error.code === '22023' || error.code === '42501' ? `DATABASE_ROLE (${role})` : 'DATABASE_URL';
  return new ConfigError([{ path, ...known }]);
}
