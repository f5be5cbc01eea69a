import { type Codec, createCodec, loadSchemaIds } from '#messaging';
import { type Database, databaseRole, openDatabase, type ServiceContext, schemaName } from '#runtime';
import type { operatorEnv } from './env.js';

export interface Storage {
  db: Database;
  codec: Codec;
}

/** Opens the pool and reads the schema ids. Throws ConfigError, DatabaseUnavailable. */
export async function openStorage(env: ServiceContext<typeof operatorEnv>['env']): Promise<Storage> {
  const db = await openDatabase({
    url: env.DATABASE_URL,
    role: databaseRole('operator', env.DATABASE_ROLE),
    schema: schemaName('operator'),
    applicationName: 'operator',
  });
  return { db, codec: createCodec({ known: await loadSchemaIds(db), registryUrl: env.SCHEMA_REGISTRY_URL }) };
}
