import { loadPermitPublicKeys } from '#delivery';
import { kafkaCheck } from '#messaging';
import { type Checks, ownToken, secretFiles } from '#runtime';
import type { intakeEnv } from './env.js';
import { loadSecrets } from './storage.js';

/** What intake needs besides its variables and a right site file. */
export const intakeChecks: Checks<typeof intakeEnv> = ({ env }) => {
  const permits = env.INTERNAL_URLS?.operator === undefined ? [] : [loadPermitPublicKeys];
  return [kafkaCheck(env), ...secretFiles(env.LD_SECRETS_DIR, [loadSecrets, ownToken('intake'), ...permits])];
};
