import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

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

type Purpose = 'fingerprint' | 'person' | 'ref';

/** Version of the fingerprint's canonical form, stored with it; another version is recomputed before it is compared. */
const fingerprintVersion = 'v1';
/** 128 bits: enough that no two persons of an organization meet, short enough for keys and URLs. */
const shortHexDigits = 32;
/** Organizations come from the site file, but a record may name any. */
const maxCachedKeys = 3_000;

/** Keyed hashes (HMAC-SHA-256, keys by HKDF) from the master secret of 32 bytes or more. */
export function hmacs(secret: Buffer): Hmacs {
  const keys = new Map<string, KeyObject>();
  const keyOf = (organization: string, purpose: Purpose): KeyObject => {
    const info = `lead-delivery:${purpose}:${organization}`;
    let key = keys.get(info);
    if (key === undefined) {
      if (keys.size >= maxCachedKeys) keys.clear();
      key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', info, 32)));
      keys.set(info, key);
    }
    return key;
  };
  const digest = (organization: string, purpose: Purpose, text: string): string =>
    createHmac('sha256', keyOf(organization, purpose)).update(text).digest('hex');

  return {
    fingerprint: (organization, canonical) => `${fingerprintVersion}:${digest(organization, 'fingerprint', canonical)}`,
    personKey: (organization, identity) => digest(organization, 'person', identityText(identity)).slice(0, shortHexDigits),
    ref: (organization, text) => digest(organization, 'ref', text).slice(0, shortHexDigits),
  };
}

/** The kind is part of the text, so that a phone number never meets an equal reference. */
function identityText({ email, phone, ref }: PersonIdentity): string {
  if (email !== undefined && email !== null && email !== '') return `email:${email}`;
  if (phone !== undefined && phone !== null && phone !== '') return `phone:${phone}`;
  return `ref:${ref}`;
}
