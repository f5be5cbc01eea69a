import { loadPermitPrivateKey } from '#delivery';
import { kafkaCheck } from '#messaging';
import { type Checks, loadInternalTokens, namedSecrets, namesServices, ownToken, secretFiles, secretsOfChannels } from '#runtime';
import { auditKeys } from './audit/audit-keys.js';
import type { operatorEnv } from './env.js';
import { loadOperatorTokens } from './people/operator-tokens.js';

const why = 'the history of what failed is fetched there';

/** What operator needs besides its variables and a right site file. */
export const operatorChecks: Checks<typeof operatorEnv> = ({ env, site }) => [
  kafkaCheck(env),
  namesServices(env.INTERNAL_URLS, { 'crm-writer': why, notifier: why }),
  ...secretFiles(env.LD_SECRETS_DIR, [
    loadInternalTokens,
    ownToken('operator'),
    loadOperatorTokens,
    loadPermitPrivateKey,
    auditKeys.signing,
    auditKeys.verifying,
  ]),
  ...namedSecrets(secretsOfChannels(site), { dir: env.LD_SECRETS_DIR }),
];
