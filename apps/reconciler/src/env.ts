import { z } from 'zod';
import { databaseEnv, internalEnv, kafkaEnv, registryEnv, siteEnv } from '#runtime';

const milliseconds = (standard: number) => z.coerce.number().int().min(10).max(86_400_000).default(standard);

/** Variables of the reconciler process. INTERNAL_URLS must name intake, crm-writer and notifier: what was delivered is read there. */
export const reconcilerEnv = {
  ...siteEnv,
  ...databaseEnv,
  ...kafkaEnv,
  SCHEMA_REGISTRY_URL: registryEnv.SCHEMA_REGISTRY_URL.optional(),
  ...internalEnv,
  /** How often it looks for comparisons that are due or that somebody asked for. */
  RECONCILE_POLL_MS: milliseconds(1_000),
  /** After this another process goes on with a comparison whose process is gone. */
  RECONCILE_LEASE_MS: milliseconds(10_000),
  /** How often the balance is taken. */
  BALANCE_MS: milliseconds(300_000),
  /** How often dead ends are held against the dead letters. */
  DEAD_ENDS_MS: milliseconds(300_000),
};
