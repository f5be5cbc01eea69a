import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PersonRole } from '#runtime';
import type { Endpoints } from '#testkit';

/** A list of its own: the launcher stays, and loads nothing of the services. */
const personRoles: readonly PersonRole[] = ['viewer', 'operator', 'approver', 'admin'];

export interface DemoSecrets {
  /** Bearer key of the source `website`. */
  sourceKey: string;
  /** What the site file keeps of it. */
  sourceKeyHash: string;
  operatorTokens: Endpoints['operatorTokens'];
}

/** Makes the keys and tokens that are missing in the folder (mode 0600) and keeps those that are there. */
export function ensureSecrets(dir: string, root: string): DemoSecrets {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const keyFile = join(dir, 'source-key-website');
  if (!existsSync(keyFile)) writeFileSync(keyFile, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 });
  execFileSync(process.execPath, [join(root, 'deploy', 'make-secrets.mjs'), dir], { stdio: ['ignore', 'ignore', 'inherit'] });
  const sourceKey = readFileSync(keyFile, 'utf8').trim();
  return { sourceKey, sourceKeyHash: `sha256:${createHash('sha256').update(sourceKey).digest('hex')}`, operatorTokens: tokensByRole(dir) };
}

/** The first token of a person with exactly this role, for each role. Only tokens that the file holds in plain words can be shown. */
function tokensByRole(dir: string): Endpoints['operatorTokens'] {
  const people = JSON.parse(readFileSync(join(dir, 'operator-tokens.json'), 'utf8')) as { token?: string; roles: string[] }[];
  const found = personRoles.map((role) => [role, people.find(({ roles }) => roles.length === 1 && roles[0] === role)?.token] as const);
  return Object.fromEntries(found.filter(([, token]) => token !== undefined));
}
