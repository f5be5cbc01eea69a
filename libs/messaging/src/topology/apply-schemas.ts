import pg from 'pg';
import { ConfigError } from '#runtime';
import { canonicalSchema } from '../codec/canonical-schema.js';
import { type RegistryClient, registryClient } from '../codec/registry-client.js';
import type { KnownSchema } from '../codec/schema-ids.js';
import { compatibilityOf, readSchemas, type SchemaFile } from './schema-folder.js';

export interface ApplySchemasOptions {
  registryUrl: string;
  /** Folder with <subject>/v<N>.avsc. */
  dir: string;
  /** Where the ids are stored: see findSchemaIdTables. */
  databases: readonly SchemaIdTable[];
  /** Hard limit of one registry call; default 10,000. */
  timeoutMs?: number;
}

/** Owner URL, and PostgreSQL schema of one service that keeps schema ids. */
export interface SchemaIdTable {
  url: string;
  schema: string;
}

export interface AppliedSchema extends KnownSchema {
  /** False where the registry had it already. */
  registered: boolean;
}

/**
 * Registers every schema in one canonical form, sets the compatibility of each subject, stores the ids with each service. Can be repeated; ids
 * that the registry keeps stay. @throws SchemaRefused, RegistryUnavailable.
 */
export async function applySchemas({ registryUrl, dir, databases, timeoutMs = 10_000 }: ApplySchemasOptions): Promise<AppliedSchema[]> {
  const registry = registryClient({ url: registryUrl, timeoutMs });
  const applied: AppliedSchema[] = [];
  const files = readSchemas(dir);
  for (const subject of new Set(files.map((file) => file.subject))) {
    const versions = files.filter((file) => file.subject === subject);
    applied.push(...(await applySubject(registry, versions)));
  }
  for (const { url, schema } of databases) await withClient(url, (client) => client.query(storeIds(schema), columns(applied)));
  return applied;
}

async function applySubject(registry: RegistryClient, versions: readonly SchemaFile[]): Promise<AppliedSchema[]> {
  const applied: AppliedSchema[] = [];
  for (const { subject, version, text } of versions) {
    const schema = canonicalSchema(text);
    const existing = await registry.lookUp(subject, schema);
    const id = existing ?? (await registry.register(subject, schema));
    applied.push({ subject, version, id, schema, registered: existing === undefined });
    // After the first version, since some registries know no level of a subject that is empty; before the second, so that it is checked.
    if (version === 1) await setLevel(registry, subject);
  }
  return applied;
}

async function setLevel(registry: RegistryClient, subject: string): Promise<void> {
  const level = compatibilityOf(subject);
  if ((await registry.compatibility(subject)) !== level) await registry.setCompatibility(subject, level);
}

/** Every service of the database that encodes or decodes events. @throws ConfigError when there is none yet. */
export async function findSchemaIdTables(url: string): Promise<SchemaIdTable[]> {
  const { rows } = await withClient(url, (client) =>
    client.query<{ schema: string }>(
      `SELECT n.nspname AS schema FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relname = 'schema_id' AND c.relkind = 'r' ORDER BY 1`,
    ),
  );
  if (rows.length > 0) return rows.map(({ schema }) => ({ url, schema }));
  const problem = 'names a database in which no service keeps schema ids yet';
  throw new ConfigError([{ path: 'DATABASE_URL', problem, fix: 'Run `leadctl migrate` first' }]);
}

/** The id in force gets the newest time, so that encoding uses it even where an older registry had used it before. */
const storeIds = (schema: string): string => `
  INSERT INTO ${pg.escapeIdentifier(schema)}.schema_id (subject, version, id, schema)
  SELECT * FROM unnest($1::text[], $2::integer[], $3::integer[], $4::text[])
  ON CONFLICT (subject, id) DO UPDATE SET version = excluded.version, schema = excluded.schema, applied_at = clock_timestamp()`;

const columns = (applied: readonly AppliedSchema[]): unknown[] => [
  applied.map((row) => row.subject),
  applied.map((row) => row.version),
  applied.map((row) => row.id),
  applied.map((row) => row.schema),
];

async function withClient<T>(connectionString: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString, statement_timeout: 10_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
