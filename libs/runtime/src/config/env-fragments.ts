import { z } from 'zod';

const port = z.coerce.number().int().min(1).max(65_535);
const milliseconds = (fallback: number) => z.coerce.number().int().min(1).default(fallback);

/** Every process. Spread into the process's own shape. */
export const baseEnv = {
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url().optional(),
  TRACE_RATIO: z.coerce.number().min(0).max(1).default(1),
};
/** A process that reads the site file or secrets. */
export const siteEnv = { LD_SITE_FILE: z.string(), LD_SECRETS_DIR: z.string() };
export const databaseEnv = { DATABASE_URL: z.string(), DATABASE_ROLE: z.string().optional() };
export const kafkaEnv = {
  KAFKA_BROKERS: z.string().transform((text) => text.split(',')),
  KAFKA_SSL_CA_FILE: z.string().optional(),
  KAFKA_SASL_MECHANISM: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).optional(),
  KAFKA_SASL_USERNAME: z.string().optional(),
  KAFKA_SASL_PASSWORD: z.string().optional(),
  KAFKA_SESSION_TIMEOUT_MS: milliseconds(30_000),
};
export const registryEnv = { SCHEMA_REGISTRY_URL: z.url() };
export const internalEnv = {
  INTERNAL_HOST: z.string().default('127.0.0.1'),
  INTERNAL_PORT: port,
  INTERNAL_URLS: z.string().transform((text) => JSON.parse(text) as Record<string, string>),
};
export const httpEnv = { HTTP_HOST: z.string().default('127.0.0.1'), HTTP_PORT: port };
export const timingEnv = { LEASE_MS: milliseconds(30_000), SWEEP_MS: milliseconds(5_000), RELAY_POLL_MS: milliseconds(1_000) };
