import path from 'node:path';
import pg from 'pg';
import { applySchemas, checkSchemas } from '#messaging';
import { ConfigError } from '#runtime';
import type { Line } from '../output.js';

/** The folder `schemas` beside `dist`, wherever the command is run. */
export const schemasDir = path.join(import.meta.dirname, '../../../../../schemas');

export interface ApplyOptions {
  registryUrl: string;
  /** Database URL of the owner of all tables. */
  url: string;
  dir: string;
}

/** Registers the schemas and stores their ids with every service that keeps them. @throws see applySchemas */
export async function applyAllSchemas({ registryUrl, url, dir }: ApplyOptions): Promise<Line[]> {
  const databases = (await schemasWithIds(url)).map((schema) => ({ url, schema }));
  const applied = await applySchemas({ registryUrl, dir, databases });
  return applied.map(({ subject, version, id, registered }) => ({
    subject,
    version,
    id,
    result: registered ? 'registered' : 'known',
  }));
}

/** PostgreSQL schemas that hold a table of schema ids: their services encode or decode events. */
async function schemasWithIds(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      `SELECT n.nspname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = 'schema_id' AND c.relkind = 'r' ORDER BY 1`,
    );
    if (rows.length > 0) return rows.map(({ name }) => name);
    const problem = 'names a database in which no service keeps schema ids yet';
    throw new ConfigError([{ path: 'DATABASE_URL', problem, fix: 'Run `leadctl migrate` first' }]);
  } finally {
    await client.end();
  }
}

/** One line per problem. */
export function schemaProblems(dir: string): Line[] {
  return checkSchemas(dir).map(({ file, problem }) => ({ file, problem }));
}
