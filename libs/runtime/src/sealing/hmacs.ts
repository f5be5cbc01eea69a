/** Normalised identity of a person: the first present of e-mail, phone and lead reference counts. */
export interface PersonIdentity {
  email?: string | null;
  phone?: string | null;
  ref: string;
}

/** Keyed hashes, with a key of their own per organization and purpose: equal input of two organizations gives different output. */
export interface Hmacs {
  /** Of the canonical business fields: `v1:` + 64 hex digits. */
  fingerprint(organization: string, canonical: string): string;
  /** Kafka key and contact key: 32 hex digits. */
  personKey(organization: string, identity: PersonIdentity): string;
  /** Of an external id, for places where the id itself must not stand: 32 hex digits. */
  ref(organization: string, text: string): string;
}

/** Keyed hashes from the master secret (32 bytes or more). */
export function hmacs(secret: Buffer): Hmacs {
  void secret;
  throw new Error('not implemented');
}
