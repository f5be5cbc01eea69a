import { kafkaCheck } from '#messaging';
import {
  type Checks,
  loadHmacSecret,
  loadInternalTokens,
  namedSecrets,
  namesServices,
  ownToken,
  secretFiles,
  secretsOfDestinations,
} from '#runtime';
import type { reconcilerEnv } from './env.js';

const why = 'what was delivered, and what is told of it, is read there';

/** What reconciler needs besides its variables and a right site file. */
export const reconcilerChecks: Checks<typeof reconcilerEnv> = ({ env, site }) => {
  const { LD_SECRETS_DIR: dir, INTERNAL_URLS: urls } = env;
  const compared = Object.entries(site?.destinations ?? {}).flatMap(([name, one]) => (one.compared ? [name] : []));
  return [
    kafkaCheck(env),
    namesServices(urls, { intake: why, 'crm-writer': why, notifier: why, operator: why }),
    ...secretFiles(dir, [loadInternalTokens, ownToken('reconciler'), loadHmacSecret]),
    ...namedSecrets(secretsOfDestinations(site, compared), { dir }),
  ];
};
