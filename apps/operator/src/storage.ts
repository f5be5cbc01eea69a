import { type Codec, createCodec, loadSchemaIds } from '#messaging';
import { type Database, databaseRole, openDatabase, type ServiceContext, schemaName } from '#runtime';
import type { operatorEnv } from './env.js';

export interface Storage {
  db: Database;
  codec: Codec;
}

/**
 * Planner settings: lists are planned with what is asked for (a plan for any class would read all of a hundred thousand letters for a rare
 * one), their indexes are in memory, and groups are counted in memory, without sorting all letters first.
 */
export const operatorDatabaseSettings = { plan_cache_mode: 'force_custom_plan', random_page_cost: 1.1, work_mem: '32MB' } as const;

/** Opens the pool and reads the schema ids. Throws ConfigError, DatabaseUnavailable. */
export async function openStorage(env: ServiceContext<typeof operatorEnv>['env']): Promise<Storage> {
  const db = await openDatabase({
    url: env.DATABASE_URL,
    role: databaseRole('operator', env.DATABASE_ROLE),
    schema: schemaName('operator'),
    applicationName: 'operator',
    settings: operatorDatabaseSettings,
  });
  return { db, codec: createCodec({ known: await loadSchemaIds(db), registryUrl: env.SCHEMA_REGISTRY_URL }) };
}
