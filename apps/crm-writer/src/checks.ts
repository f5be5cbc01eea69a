import { loadPermitPublicKeys } from '#delivery';
import { kafkaCheck } from '#messaging';
import {
  type Checks,
  leaseOutlasts,
  loadHmacSecret,
  loadInternalTokens,
  namedSecrets,
  namesServices,
  ownToken,
  secretFiles,
  secretsOfDestinations,
} from '#runtime';
import type { crmWriterEnv } from './env.js';
import { checkNames } from './served-destinations.js';

/** What crm-writer needs besides its variables and a right site file. */
export const crmWriterChecks: Checks<typeof crmWriterEnv> = ({ env, site }) => {
  const { LD_DESTINATIONS: names, LD_SECRETS_DIR: dir, INTERNAL_URLS: urls } = env;
  const permits = urls?.operator === undefined ? [] : [loadPermitPublicKeys];
  return [
    kafkaCheck(env),
    namesServices(urls, { intake: 'the vault is read there' }),
    () => checkNames(names ?? [], site && Object.keys(site.destinations)),
    leaseOutlasts(site, env.LEASE_MS, names),
    ...secretFiles(dir, [loadInternalTokens, ownToken('crm-writer'), loadHmacSecret, ...permits]),
    ...namedSecrets(secretsOfDestinations(site, names), { dir }),
  ];
};
