import pg from 'pg';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { databaseRole, schemaName } from '../config/env-fragments.js';
import { startupOptions } from './database.js';
import { DatabaseUnavailable } from './database-errors.js';
import { silentLogger } from './silent-logger.js';

/** Migration classes of TypeORM, in order. */
export type Migrations = DataSourceOptions['migrations'];

export interface MigrateOptions {
  /** URL of a user that may create schemas and roles; it owns what the migrations create. */
  url: string;
  service: string;
  migrations: Migrations;
  /** Role of the service; default `ld_<service>`. */
  role?: string;
  /** Login user that is granted membership in the role; default: the user of `url`. */
  login?: string;
}

const lockName = 'lead-delivery migrations';
const lockWaitMs = 60_000;
const lockPollMs = 200;
const tableLockMs = 2_000;

/**
 * Job: creates the role, the schema, its grants and `clock_now()`, then runs the service's migrations as the owner. Can be repeated.
 * Several at once queue under an advisory lock. A statement that waits more than 2 s for a table lock fails, and the job can be run again.
 * The service may be at work meanwhile: what a migration creates is the role's from the moment it is there, also where a later one fails.
 */
export async function migrateService(options: MigrateOptions): Promise<{ applied: string[] }> {
  const { url, service, migrations } = options;
  const schema = schemaName(service);
  const role = databaseRole(service, options.role);
  const client = new pg.Client({
    connectionString: url,
    application_name: 'ld-migrate',
    options: startupOptions({ lock_timeout: tableLockMs }),
  });
  client.on('error', () => {});
  await client.connect();
  try {
    await takeLock(client);
    await createRole(client, role, options.login);
    await createSchema(client, schema, role);
    await client.query(grantsToCome(schema, role));
    const applied = await runMigrations({ url, schema, migrations });
    await client.query(grants(schema, role));
    return { applied };
  } finally {
    await client.end();
  }
}

async function takeLock(client: pg.Client): Promise<void> {
  const giveUpAt = Date.now() + lockWaitMs;
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock(hashtext($1)) as locked', [lockName]);
    if (rows[0]?.locked === true) return;
    if (Date.now() > giveUpAt) throw new DatabaseUnavailable('migration_lock_timeout');
    await new Promise((resolve) => setTimeout(resolve, lockPollMs));
  }
}

/** Roles belong to the whole server, the lock to one database: another database's job may create the same role at the same time. */
async function createRole(client: pg.Client, role: string, login: string | undefined): Promise<void> {
  const name = pg.escapeIdentifier(role);
  const created = `do $$ begin create role ${name} nologin; exception when duplicate_object or unique_violation then null; end $$`;
  const { rowCount } = await client.query('select from pg_roles where rolname = $1', [role]);
  if (rowCount === 0) await client.query(created);
  const member = await client.query<{ user: string; member: boolean }>(
    `select coalesce($2, current_user::text) as user, pg_has_role(coalesce($2, current_user::text), $1, 'MEMBER') as member`,
    [role, login ?? null],
  );
  const [found] = member.rows;
  if (found !== undefined && !found.member)
    await retryConcurrentUpdate(() => client.query(`grant ${name} to ${pg.escapeIdentifier(found.user)}`));
}

async function retryConcurrentUpdate(run: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await run();
      return;
    } catch (error) {
      const { message } = error as Error;
      if (attempt === 5 || !message.includes('concurrently')) throw error;
      await new Promise((resolve) => setTimeout(resolve, lockPollMs));
    }
  }
}

/** clock_now() is made once and then left alone: tests replace it by one with an offset. */
async function createSchema(client: pg.Client, schema: string, role: string): Promise<void> {
  const name = pg.escapeIdentifier(schema);
  await client.query(`create schema if not exists ${name}`);
  await client.query(`grant usage on schema ${name} to ${pg.escapeIdentifier(role)}`);
  const { rows } = await client.query<{ missing: boolean }>('select to_regprocedure($1) is null as missing', [`${name}.clock_now()`]);
  if (rows[0]?.missing !== true) return;
  await client.query(
    `create function ${name}.clock_now() returns timestamptz language sql volatile parallel safe as 'select clock_timestamp()'`,
  );
}

/** The service may read and change rows; the tables, and the record of migrations, belong to the owner. */
function grants(schema: string, role: string): string {
  const [inSchema, to] = [pg.escapeIdentifier(schema), pg.escapeIdentifier(role)];
  return `
    grant select, insert, update, delete on all tables in schema ${inSchema} to ${to};
    grant usage, select on all sequences in schema ${inSchema} to ${to};
    revoke all on ${inSchema}.${migrationsTable} from ${to};
    grant select on ${inSchema}.${migrationsTable} to ${to}`;
}

/** The same for what the owner creates from now on, the record of migrations included until `grants` has run. */
function grantsToCome(schema: string, role: string): string {
  const [inSchema, to] = [pg.escapeIdentifier(schema), pg.escapeIdentifier(role)];
  return `
    alter default privileges in schema ${inSchema} grant select, insert, update, delete on tables to ${to};
    alter default privileges in schema ${inSchema} grant usage, select on sequences to ${to}`;
}

const migrationsTable = 'migration';

async function runMigrations({ url, schema, migrations }: { url: string; schema: string; migrations: Migrations }): Promise<string[]> {
  const dataSource = new DataSource({
    type: 'postgres',
    url,
    schema,
    migrations,
    migrationsTableName: migrationsTable,
    applicationName: 'ld-migrate',
    poolSize: 1,
    installExtensions: false,
    logger: silentLogger,
    poolErrorHandler: () => {},
    extra: { options: startupOptions({ search_path: schema, lock_timeout: tableLockMs }) },
  });
  await dataSource.initialize();
  try {
    const applied = await dataSource.runMigrations({ transaction: 'each' });
    return applied.map(({ name }) => name);
  } finally {
    await dataSource.destroy();
  }
}
