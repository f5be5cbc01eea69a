import pg from 'pg';
import type { Connections } from '../infra/embedded.js';
import { ensureDatabase } from '../infra/postgres.js';
import { uniqueName } from '../unique.js';
import { runningTestInfra, testInfraFile } from './start.js';

/** Connection data of the shared Kafka, registry and PostgreSQL. Throws when they do not run: the test setup starts them. */
export function testInfra(): Connections {
  const infra = runningTestInfra();
  if (infra === undefined) throw new Error(`no test infrastructure runs (${testInfraFile()}): start it with \`npm run infra\``);
  const { kafkaBrokers, schemaRegistry, databaseUrl } = infra;
  return { kafkaBrokers, schemaRegistry, databaseUrl };
}

export interface TestDatabase {
  /** URL for the owner role, which may create roles and schemas. */
  url: string;
  /** Removes the database, ending whatever sessions it still has. */
  drop(): Promise<void>;
}

/** A fresh, empty database on the shared server; its name starts with `name`. Roles are shared by all databases of the server. */
export async function testDatabase(name: string): Promise<TestDatabase> {
  const { databaseUrl } = testInfra();
  const database = uniqueName(name).replaceAll('-', '_').toLowerCase();
  const url = await ensureDatabase(databaseUrl, database);
  return {
    url,
    drop: async () => {
      const client = new pg.Client({ connectionString: databaseUrl });
      await client.connect();
      try {
        await client.query(`drop database if exists ${pg.escapeIdentifier(database)} with (force)`);
      } finally {
        await client.end();
      }
    },
  };
}
