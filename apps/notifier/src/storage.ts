import { deliveryDatabaseSettings } from '#delivery';
import { type Codec, createCodec, loadSchemaIds } from '#messaging';
import { type Database, databaseRole, openDatabase, type ServiceContext, schemaName } from '#runtime';
import type { notifierEnv } from './env.js';

export interface Storage {
  db: Database;
  codec: Codec;
}

/** Opens the pool and reads the schema ids. Throws ConfigError, DatabaseUnavailable. */
export async function openStorage(env: ServiceContext<typeof notifierEnv>['env']): Promise<Storage> {
  const db = await openDatabase({
    url: env.DATABASE_URL,
    role: databaseRole('notifier', env.DATABASE_ROLE),
    schema: schemaName('notifier'),
    applicationName: 'notifier',
    settings: deliveryDatabaseSettings,
  });
  return { db, codec: createCodec({ known: await loadSchemaIds(db), registryUrl: env.SCHEMA_REGISTRY_URL }) };
}
