import { createHash, randomBytes } from 'node:crypto';

const secretBytes = 32;

/**
 * A bearer key for a source and what stands in the site file for it. The key is random enough that a plain hash protects it; it is shown once
 * and kept nowhere.
 */
export function newSourceKey(): { key: string; hash: string } {
  const key = `ldk_${randomBytes(secretBytes).toString('base64url')}`;
  return { key, hash: `sha256:${createHash('sha256').update(key).digest('hex')}` };
}
