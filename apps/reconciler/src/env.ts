import { internalEnv, kafkaEnv, siteEnv } from '#runtime';

/** Variables of the reconciler process. */
export const reconcilerEnv = {
  LD_SITE_FILE: siteEnv.LD_SITE_FILE,
  ...kafkaEnv,
  INTERNAL_HOST: internalEnv.INTERNAL_HOST,
  INTERNAL_PORT: internalEnv.INTERNAL_PORT,
};
