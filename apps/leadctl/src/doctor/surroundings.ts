import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError, kafkaEnv, loadEnv, loadSite, type Site } from '#runtime';

/** Where the parts of an installation are. */
export interface Surroundings {
  site: Site;
  secretsDir: string;
  databaseUrl?: string;
  registryUrl?: string;
  kafka: z.infer<typeof kafkaVariables>;
  internal: Record<string, string>;
}

const kafkaVariables = z.object(kafkaEnv);
const endpoints = z.looseObject({
  internal: z.record(z.string(), z.string()),
  databaseUrl: z.string(),
  kafkaBrokers: z.string(),
  schemaRegistry: z.string(),
  sourceKey: z.string(),
  sandboxCrm: z.string(),
  sandboxMarketing: z.string(),
  sandboxChat: z.string(),
});
const projectDir = join(import.meta.dirname, '../../../../..');

/**
 * Of the environment where LD_SITE_FILE names a site, else of a run directory of `npm start`, whose site file is `site` or the demo's. Throws
 * ConfigError.
 */
export function surroundings(options: { runDir?: string; site?: string }, env: NodeJS.ProcessEnv): Surroundings {
  if (options.runDir === undefined && env.LD_SITE_FILE !== undefined) return fromEnvironment(env, env.LD_SITE_FILE);
  const from = (path: string): string => (isAbsolute(path) ? path : resolve(env.INIT_CWD ?? process.cwd(), path));
  const dir = options.runDir === undefined ? join(projectDir, '.run') : from(options.runDir);
  const found = readEndpoints(join(dir, 'endpoints.json'));
  const variables = {
    ...env,
    LD_SECRETS_DIR: join(dir, 'secrets'),
    DATABASE_URL: found.databaseUrl,
    KAFKA_BROKERS: found.kafkaBrokers,
    SCHEMA_REGISTRY_URL: found.schemaRegistry,
    INTERNAL_URLS: JSON.stringify(found.internal),
    SANDBOX_CRM_URL: found.sandboxCrm,
    SANDBOX_MARKETING_URL: found.sandboxMarketing,
    SANDBOX_CHAT_URL: found.sandboxChat,
    DEMO_SOURCE_KEY_HASH: `sha256:${createHash('sha256').update(found.sourceKey).digest('hex')}`,
  };
  return fromEnvironment(variables, options.site === undefined ? join(projectDir, 'config/demo.yaml') : from(options.site));
}

const named = z.object({
  LD_SECRETS_DIR: z.string(),
  DATABASE_URL: z.string().optional(),
  SCHEMA_REGISTRY_URL: z.string().optional(),
  INTERNAL_URLS: z
    .string()
    .default('{}')
    .transform((text) => z.record(z.string(), z.string()).parse(JSON.parse(text))),
});

function fromEnvironment(env: NodeJS.ProcessEnv, siteFile: string): Surroundings {
  const { LD_SECRETS_DIR, DATABASE_URL, SCHEMA_REGISTRY_URL, INTERNAL_URLS } = loadEnv(named, env);
  return {
    site: loadSite(siteFile, env),
    secretsDir: LD_SECRETS_DIR,
    databaseUrl: DATABASE_URL,
    registryUrl: SCHEMA_REGISTRY_URL,
    kafka: loadEnv(kafkaVariables, env),
    internal: INTERNAL_URLS,
  };
}

function readEndpoints(file: string): z.infer<typeof endpoints> {
  try {
    return endpoints.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    const { code = 'not of the right form' } = error as NodeJS.ErrnoException;
    const fix = 'Start an instance there with npm start, name its folder with --run-dir, or set LD_SITE_FILE and the rest';
    throw new ConfigError([{ path: file, problem: `cannot be used (${code})`, fix }]);
  }
}
