import { join } from 'node:path';
import { loadSigningKey, loadVerifyingKeys } from '#delivery';

/** Keys of the audit's head, from the secrets folder: `audit-private.json` signs it, `audit-public.json` verifies it. Both throw ConfigError. */
export const auditKeys = {
  signing: (secretsDir: string) => loadSigningKey(join(secretsDir, 'audit-private.json')),
  verifying: (secretsDir: string) => loadVerifyingKeys(join(secretsDir, 'audit-public.json')),
};
