import { join } from 'node:path';
import { type Codec, createCodec, loadSchemaIds } from '#messaging';
import {
  type Database,
  databaseRole,
  type Hmacs,
  hmacs,
  KeyRing,
  loadAll,
  loadHmacSecret,
  loadInternalTokens,
  openDatabase,
  type ServiceContext,
  schemaName,
} from '#runtime';
import { DatabaseClock } from './database-clock.js';
import { entities } from './entities/index.js';
import type { intakeEnv } from './env.js';

/** Where intake keeps leads, and the keys it needs to do so. */
export interface Storage {
  db: Database;
  clock: DatabaseClock;
  codec: Codec;
  hmacs: Hmacs;
  ring: KeyRing;
}

/** Three statements of the HTTP door, one of each consumer, one for queries. */
const poolSize = 6;
/** With the client's own second of grace well within the 3 s that a request may take. */
const statementTimeoutMs = 1_500;
const acquireTimeoutMs = 1_000;

/** What intake keeps secret. */
export interface Secrets {
  ring: KeyRing;
  hmacSecret: Buffer;
  /** Bearer token per caller of internal APIs. */
  tokens: Record<string, string>;
}

/** Reads every secret file. Throws one ConfigError with all that is wrong with them. */
export function loadSecrets(dir: string): Secrets {
  const [ring, hmacSecret, tokens] = loadAll(
    () => KeyRing.fromFile(join(dir, 'keyring.json')),
    () => loadHmacSecret(dir),
    () => loadInternalTokens(dir),
  );
  return { ring, hmacSecret, tokens };
}

/** Opens the pool and reads the schema ids. Throws ConfigError, DatabaseUnavailable. */
export async function openStorage(env: ServiceContext<typeof intakeEnv>['env'], { ring, hmacSecret }: Secrets): Promise<Storage> {
  const db = await openDatabase({
    url: env.DATABASE_URL,
    role: databaseRole('intake', env.DATABASE_ROLE),
    schema: schemaName('intake'),
    applicationName: 'intake',
    poolSize,
    statementTimeoutMs,
    acquireTimeoutMs,
    entities,
  });
  const known = await loadSchemaIds(db);
  const codec = createCodec({ known, registryUrl: env.SCHEMA_REGISTRY_URL });
  return { db, clock: new DatabaseClock(db), codec, hmacs: hmacs(hmacSecret), ring };
}
