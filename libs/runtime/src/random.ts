import { randomFillSync } from 'node:crypto';

const pool = Buffer.allocUnsafeSlow(8_192);
let used = pool.length;

/** `bytes` random bytes as lower-case hex. Taken from a pool, since one call of the system's generator costs more than a whole span. */
export function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const text = pool.toString('hex', used, used + bytes);
  used += bytes;
  return text;
}
