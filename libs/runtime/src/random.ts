import { randomFillSync } from 'node:crypto';

const pool = Buffer.allocUnsafeSlow(8_192);
let used = pool.length;

/**
 * Random bytes out of a pool, since one call of the system's generator costs more than a whole span. A view that is overwritten later:
 * copy it or use it up at once. Not for keys, which must not linger in a pool.
 */
export function takeRandom(bytes: number): Buffer {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.subarray(used - bytes, used);
}

/** `bytes` random bytes as lower-case hex. */
export function randomHex(bytes: number): string {
  return takeRandom(bytes).toString('hex');
}
