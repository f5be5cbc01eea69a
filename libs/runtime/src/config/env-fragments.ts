import { z } from 'zod';

/** A refusal in our own words: zod's would quote the value. */
const refuse = (problem: string, fix: string) => ({ params: { problem, fix } });

const port = z.coerce.number().int().min(1).max(65_535);
const milliseconds = (fallback: number) => z.coerce.number().int().min(1).max(86_400_000).default(fallback);

const httpUrl = z.string().refine(isHttpUrl, refuse('is not a URL', 'Write it as http://host:port or https://host:port'));
const postgresUrl = z
  .string()
  .refine(
    (text) => /^postgres(ql)?:\/\/.+/.test(text) && URL.canParse(text),
    refuse('is not a PostgreSQL URL', 'Write it as postgresql://user:password@host:port/database'),
  );
const brokers = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  )
  .refine(
    (list) => list.length > 0 && list.every((broker) => /^[^\s:/]+:\d{1,5}$|^\[[0-9a-fA-F:]+\]:\d{1,5}$/.test(broker)),
    refuse('is not a list of brokers', 'Write it as host:port,host:port'),
  );
const urlsByService = z.string().transform((text, context) => {
  const urls = parseJsonMap(text);
  if (urls !== undefined && Object.values(urls).every(isHttpUrl)) return urls;
  context.addIssue({
    code: 'custom',
    ...refuse('is not a JSON map of URLs', 'Write it as {"intake":"http://host:port","crm-writer":"http://host:port"}'),
  });
  return z.NEVER;
});

/** Every process. Spread the fragments a process needs into its own shape. */
export const baseEnv = {
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  /** OTLP/HTTP base URL; traces are not exported when unset. */
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  /** Share of new traces that are sampled. */
  TRACE_RATIO: z.coerce.number().min(0).max(1).default(1),
};

/** A process that reads the site file and secrets. */
export const siteEnv = { LD_SITE_FILE: z.string(), LD_SECRETS_DIR: z.string() };

/** DATABASE_ROLE: role that connections take on; default `ld_<service>`, see databaseRole. */
export const databaseEnv = {
  DATABASE_URL: postgresUrl,
  DATABASE_ROLE: z
    .string()
    .regex(/^[a-z_][a-z0-9_]{0,62}$/)
    .optional(),
};

/** TLS is on where KAFKA_SSL_CA_FILE is set; SASL where a mechanism is. */
export const kafkaEnv = {
  KAFKA_BROKERS: brokers,
  KAFKA_SSL_CA_FILE: z.string().optional(),
  KAFKA_SASL_MECHANISM: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).optional(),
  KAFKA_SASL_USERNAME: z.string().optional(),
  KAFKA_SASL_PASSWORD: z.string().optional(),
  KAFKA_SESSION_TIMEOUT_MS: milliseconds(30_000),
};

/** Base URL of the registry with its Confluent-compatible path. Needed only to register schemas and to decode unknown ids. */
export const registryEnv = { SCHEMA_REGISTRY_URL: httpUrl };

/** INTERNAL_URLS: base URL of each service's internal API by service name. */
export const internalEnv = {
  INTERNAL_HOST: z.string().default('127.0.0.1'),
  INTERNAL_PORT: port,
  INTERNAL_URLS: urlsByService.default({}),
};

export const httpEnv = { HTTP_HOST: z.string().default('127.0.0.1'), HTTP_PORT: port };

/** LEASE_MS must exceed the longest destination timeout. */
export const timingEnv = { LEASE_MS: milliseconds(30_000), SWEEP_MS: milliseconds(5_000), RELAY_POLL_MS: milliseconds(1_000) };

/** The role a service's connections take on: DATABASE_ROLE, else `ld_<service>`. */
export function databaseRole(service: string, configured?: string): string {
  return configured ?? `ld_${schemaName(service)}`;
}

/** The PostgreSQL schema of a service: its name with `_` for `-`. */
export function schemaName(service: string): string {
  return service.replaceAll('-', '_');
}

function isHttpUrl(text: unknown): text is string {
  return typeof text === 'string' && /^https?:\/\/[^\s]+$/.test(text) && URL.canParse(text);
}

function parseJsonMap(text: string): Record<string, string> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isMap ? (value as Record<string, string>) : undefined;
  } catch {
    return undefined;
  }
}
