import { z } from 'zod';
import { databaseEnv, httpEnv, internalEnv, kafkaEnv, registryEnv, siteEnv, timingEnv } from '#runtime';

/** Variables of the operator process. INTERNAL_URLS must name crm-writer and notifier: the history of what failed is fetched there. */
export const operatorEnv = {
  ...siteEnv,
  ...databaseEnv,
  ...kafkaEnv,
  SCHEMA_REGISTRY_URL: registryEnv.SCHEMA_REGISTRY_URL.optional(),
  ...internalEnv,
  ...httpEnv,
  RELAY_POLL_MS: timingEnv.RELAY_POLL_MS,
  /** How often the owners are asked what is unresolved there, and what became of open items. */
  FOLLOW_MS: z.coerce.number().int().min(100).max(3_600_000).default(5_000),
};
