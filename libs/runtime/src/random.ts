import { randomFillSync } from 'node:crypto';

const pool = Buffer.allocUnsafeSlow(8_192);
let used = pool.length;

/**
 * Random bytes out of a pool, since one call of the system's generator costs more than a whole span. A view that is overwritten later:
 * copy it or use it up at once. Not for keys, which must not linger in a pool: see takeSecret.
 */
export function takeRandom(bytes: number): Buffer {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.subarray(used - bytes, used);
}

const secrets = Buffer.allocUnsafeSlow(8_192);
let secretsUsed = secrets.length;

/** Random bytes of one's own, for keys: nothing of them stays in the pool. Whoever takes them overwrites them after use. */
export function takeSecret(bytes: number): Buffer {
  if (secretsUsed + bytes > secrets.length) {
    randomFillSync(secrets);
    secretsUsed = 0;
  }
  const pooled = secrets.subarray(secretsUsed, secretsUsed + bytes);
  secretsUsed += bytes;
  const taken = Buffer.from(pooled);
  pooled.fill(0);
  return taken;
}

/** `bytes` random bytes as lower-case hex. */
export function randomHex(bytes: number): string {
  return takeRandom(bytes).toString('hex');
}
