import { loadPermitPublicKeys } from '#delivery';
import { kafkaCheck } from '#messaging';
import { type Checks, loadHmacSecret, loadInternalTokens, namedSecrets, ownToken, secretFiles, secretsOfChannels } from '#runtime';
import type { notifierEnv } from './env.js';

/** What notifier needs besides its variables and a right site file. Its own calls are shortened to fit the lease. */
export const notifierChecks: Checks<typeof notifierEnv> = ({ env, site }) => {
  const permits = env.INTERNAL_URLS?.operator === undefined ? [] : [loadPermitPublicKeys];
  return [
    kafkaCheck(env),
    ...secretFiles(env.LD_SECRETS_DIR, [loadInternalTokens, ownToken('notifier'), loadHmacSecret, ...permits]),
    ...namedSecrets(secretsOfChannels(site), { dir: env.LD_SECRETS_DIR }),
  ];
};
