import { deliveryDatabaseSettings } from '#delivery';
import { type Codec, createCodec, loadSchemaIds } from '#messaging';
import { type Database, databaseRole, openDatabase, type ServiceContext, schemaName } from '#runtime';
import type { crmWriterEnv } from './env.js';

export interface Storage {
  db: Database;
  codec: Codec;
}

/** About twice the cores for the statements of all engines together, and one for queries. */
const poolSize = 5;

/** Opens the pool and reads the schema ids. Throws ConfigError, DatabaseUnavailable. */
export async function openStorage(env: ServiceContext<typeof crmWriterEnv>['env']): Promise<Storage> {
  const db = await openDatabase({
    url: env.DATABASE_URL,
    role: databaseRole('crm-writer', env.DATABASE_ROLE),
    schema: schemaName('crm-writer'),
    applicationName: 'crm-writer',
    poolSize,
    settings: deliveryDatabaseSettings,
  });
  return { db, codec: createCodec({ known: await loadSchemaIds(db), registryUrl: env.SCHEMA_REGISTRY_URL }) };
}
