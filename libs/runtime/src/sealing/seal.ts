import type { KeyRing } from './key-ring.js';

/** Sealed personal data: what is stored. */
export interface Sealed {
  /** Key of the ring that wraps the data key. */
  keyId: string;
  /** iv (12) + encrypted data key (32) + tag (16). */
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

/** Seals with AES-256-GCM under a fresh data key, which the ring's current key wraps. `aad` (for example `vault:<ref>:<revision>`) binds it to its place. */
export function seal(ring: KeyRing, plaintext: Buffer, aad: string): Sealed {
  void ring;
  void plaintext;
  void aad;
  throw new Error('not implemented');
}

/** Opens what seal made with the same aad. Throws SealError. */
export function unseal(ring: KeyRing, value: Sealed, aad: string): Buffer {
  void ring;
  void value;
  void aad;
  throw new Error('not implemented');
}

/** The same sealed bytes with the data key wrapped by the ring's current key. Throws SealError. */
export function rewrap(ring: KeyRing, value: Sealed, aad: string): Sealed {
  void ring;
  void value;
  void aad;
  throw new Error('not implemented');
}
