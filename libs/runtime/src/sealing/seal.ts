import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { takeSecret } from '../random.js';
import type { KeyRing } from './key-ring.js';

/** Sealed personal data: what is stored. */
export interface Sealed {
  /** Key of the ring that wraps the data key. */
  keyId: string;
  /** iv (12) + encrypted data key (32) + tag (16). Deleting it makes the sealed bytes unreadable for ever. */
  wrappedKey: Buffer;
  /** iv (12) + ciphertext + tag (16). */
  sealed: Buffer;
}

/** Why a sealed value cannot be opened. Holds no data. */
export class SealError extends Error {
  override readonly name = 'SealError';
  readonly safeMessage = true;
  constructor(
    readonly reason: 'unknown_key' | 'tampered',
    message: string,
  ) {
    super(message);
  }
}

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;
const keyBytes = 32;
/** Keys are KeyObjects throughout: a cipher made from a Buffer costs five times as much. */
const tagOptions = { authTagLength: tagBytes };

/**
 * Seals with AES-256-GCM under a fresh data key, which the ring's current key wraps. `aad` (for example `vault:<ref>:<revision>`) binds it
 * to its place: moved to another row it does not open.
 */
export function seal(ring: KeyRing, plaintext: Buffer, aad: string): Sealed {
  const random = takeSecret(keyBytes + 2 * ivBytes);
  const dataKey = random.subarray(0, keyBytes);
  const [dataIv, wrapIv] = [random.subarray(keyBytes, keyBytes + ivBytes), random.subarray(keyBytes + ivBytes)];
  const value = {
    keyId: ring.current,
    wrappedKey: wrap(ring, { dataKey, iv: wrapIv, aad }),
    sealed: encrypt({ key: createSecretKey(dataKey), iv: dataIv, plaintext, aad }),
  };
  random.fill(0);
  return value;
}

/** Opens what seal made with the same aad. Throws SealError. */
export function unseal(ring: KeyRing, value: Sealed, aad: string): Buffer {
  return decrypt({ key: createSecretKey(unwrap(ring, value, aad)), boxed: value.sealed, aad });
}

/** The same sealed bytes with the data key wrapped by the ring's current key. Throws SealError. */
export function rewrap(ring: KeyRing, value: Sealed, aad: string): Sealed {
  const dataKey = unwrap(ring, value, aad);
  return { keyId: ring.current, wrappedKey: wrap(ring, { dataKey, iv: randomBytes(ivBytes), aad }), sealed: value.sealed };
}

function wrap(ring: KeyRing, { dataKey, iv, aad }: { dataKey: Buffer; iv: Buffer; aad: string }): Buffer {
  return encrypt({ key: ringKey(ring, ring.current), iv, plaintext: dataKey, aad: wrapAad(ring.current, aad) });
}

function unwrap(ring: KeyRing, { keyId, wrappedKey }: Sealed, aad: string): Buffer {
  return decrypt({ key: ringKey(ring, keyId), boxed: wrappedKey, aad: wrapAad(keyId, aad) });
}

/** The key id is bound too: a row whose id was changed does not open under a key of the same bytes. */
function wrapAad(keyId: string, aad: string): string {
  return `key:${keyId}:${aad}`;
}

function ringKey(ring: KeyRing, id: string): KeyObject {
  const key = ring.key(id);
  if (key === undefined) throw new SealError('unknown_key', `The key ring has no key ${id}: put it back into keyring.json`);
  return key;
}

function encrypt({ key, iv, plaintext, aad }: { key: KeyObject; iv: Buffer; plaintext: Buffer; aad: string }): Buffer {
  const cipher = createCipheriv(algorithm, key, iv, tagOptions);
  cipher.setAAD(Buffer.from(aad));
  const body = cipher.update(plaintext);
  cipher.final();
  return Buffer.concat([iv, body, cipher.getAuthTag()], ivBytes + body.length + tagBytes);
}

function decrypt({ key, boxed, aad }: { key: KeyObject; boxed: Buffer; aad: string }): Buffer {
  if (boxed.length < ivBytes + tagBytes) throw new SealError('tampered', 'The sealed value is too short to be one');
  const decipher = createDecipheriv(algorithm, key, boxed.subarray(0, ivBytes), tagOptions);
  decipher.setAAD(Buffer.from(aad));
  decipher.setAuthTag(boxed.subarray(boxed.length - tagBytes));
  const plaintext = decipher.update(boxed.subarray(ivBytes, boxed.length - tagBytes));
  try {
    decipher.final();
  } catch {
    throw new SealError('tampered', 'The sealed value was changed or belongs to another place');
  }
  return plaintext;
}
