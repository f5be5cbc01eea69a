import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const toleranceSeconds = 300;

/** Key bytes of a Standard Webhooks secret (`whsec_` + base64). */
export function signatureKey(secret: string): Buffer {
  return Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
}

/**
 * Checks Standard Webhooks headers with its own few lines, independent of the library the sender signs with.
 * @returns true for a valid signature and for a request that carries none: people post here by hand
 */
export function signatureHolds(headers: IncomingHttpHeaders, body: string, key: Buffer): boolean {
  const given = headers['webhook-signature'];
  if (given === undefined) return true;
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > toleranceSeconds) return false;
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest();
  return String(given)
    .split(' ')
    .some((entry) => entry.startsWith('v1,') && equal(Buffer.from(entry.slice(3), 'base64'), expected));
}

function equal(left: Buffer, right: Buffer): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}
