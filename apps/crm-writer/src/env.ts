import { z } from 'zod';
import { databaseEnv, internalEnv, kafkaEnv, registryEnv, siteEnv, timingEnv } from '#runtime';

/** Variables of the crm-writer process. The registry is asked only for schema ids that `leadctl schemas apply` did not store. */
export const crmWriterEnv = {
  ...siteEnv,
  ...databaseEnv,
  ...kafkaEnv,
  SCHEMA_REGISTRY_URL: registryEnv.SCHEMA_REGISTRY_URL.optional(),
  ...internalEnv,
  ...timingEnv,
  /** Destinations that this process serves, separated by commas; default: every one of the site file. */
  LD_DESTINATIONS: z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    )
    .optional(),
};
