import { type Codec, createCodec, loadSchemaIds } from '#messaging';
import { type Database, databaseRole, openDatabase, type ServiceContext, schemaName } from '#runtime';
import type { reconcilerEnv } from './env.js';

export interface Storage {
  db: Database;
  codec: Codec;
}

/** Lists are planned with what is asked for, and every index is small enough for memory. */
export const reconcilerDatabaseSettings = { plan_cache_mode: 'force_custom_plan', random_page_cost: 1.1 } as const;

/** Opens the pool and reads the schema ids. Throws ConfigError, DatabaseUnavailable. */
export async function openStorage(env: ServiceContext<typeof reconcilerEnv>['env']): Promise<Storage> {
  const db = await openDatabase({
    url: env.DATABASE_URL,
    role: databaseRole('reconciler', env.DATABASE_ROLE),
    schema: schemaName('reconciler'),
    applicationName: 'reconciler',
    settings: reconcilerDatabaseSettings,
  });
  return { db, codec: createCodec({ known: await loadSchemaIds(db), registryUrl: env.SCHEMA_REGISTRY_URL }) };
}
