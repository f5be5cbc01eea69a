import { databaseEnv, internalEnv, kafkaEnv, registryEnv, siteEnv, timingEnv } from '#runtime';

/** Variables of the notifier process. The registry is asked only for schema ids that `leadctl schemas apply` did not store. */
export const notifierEnv = {
  ...siteEnv,
  ...databaseEnv,
  ...kafkaEnv,
  SCHEMA_REGISTRY_URL: registryEnv.SCHEMA_REGISTRY_URL.optional(),
  ...internalEnv,
  ...timingEnv,
};
