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
  /** File to which the signed head of the audit chain is written, outside the database; absent: it is only logged. */
  AUDIT_HEAD_FILE: z.string().min(1).optional(),
  /** How often new rows of the audit are chained. */
  AUDIT_SEAL_MS: z.coerce.number().int().min(50).max(60_000).default(1_000),
};
