import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface DemoSecrets {
  /** Bearer key of the source `website`. */
  sourceKey: string;
  /** What the site file keeps of it. */
  sourceKeyHash: string;
}

/** Makes the keys and tokens that are missing in the folder (mode 0600) and keeps those that are there. */
export function ensureSecrets(dir: string, root: string): DemoSecrets {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const keyFile = join(dir, 'source-key-website');
  if (!existsSync(keyFile)) writeFileSync(keyFile, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 });
  execFileSync(process.execPath, [join(root, 'deploy', 'make-secrets.mjs'), dir], { stdio: ['ignore', 'ignore', 'inherit'] });
  const sourceKey = readFileSync(keyFile, 'utf8').trim();
  return { sourceKey, sourceKeyHash: `sha256:${createHash('sha256').update(sourceKey).digest('hex')}` };
}
