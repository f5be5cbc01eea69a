import { createHmac, createSecretKey } from 'node:crypto';

const prefix = 'whsec_';

/** Signs requests as Standard Webhooks v1 describes it (HMAC-SHA256 over `id.timestamp.body`). */
export interface Signer {
  /** Value of `webhook-signature`. */
  sign(id: string, timestampSeconds: number, body: string): string;
}

/** `secret` is base64, with or without `whsec_` before it. @throws when it holds fewer than 24 bytes, as the standard asks. */
export function createSigner(secret: string): Signer {
  const bytes = Buffer.from(secret.startsWith(prefix) ? secret.slice(prefix.length) : secret, 'base64');
  if (bytes.length < 24) throw new Error('a webhook secret must hold at least 24 bytes in base64');
  // A key object: a raw key would be made one again for every signature, at four times the cost.
  const key = createSecretKey(bytes);
  return {
    sign: (id, timestampSeconds, body) => `v1,${createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64')}`,
  };
}
