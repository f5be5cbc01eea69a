import type { Hmacs } from '#runtime';
import { emailIdentity } from '../submission/contact.js';

/** Person keys of one contact's two addresses; absent where the address is absent or empty. */
export interface ContactKeys {
  email?: string;
  phone?: string;
}

/** Each address as a person key of its own. Takes what was normalised; equal people give equal keys, whoever computes them. */
export function contactKeys(hmacs: Hmacs, organization: string, contact: { email?: string; phone?: string }): ContactKeys {
  const { email, phone } = contact;
  return {
    email: email ? hmacs.personKey(organization, { email: emailIdentity(email), ref: '' }) : undefined,
    phone: phone ? hmacs.personKey(organization, { phone, ref: '' }) : undefined,
  };
}

/** The first 64 bits of a key, as leads are searched by: signed, as PostgreSQL's bigint is. */
export function searchKey(key: string | undefined): bigint | undefined {
  return key === undefined ? undefined : BigInt.asIntN(64, BigInt(`0x${key.slice(0, 16)}`));
}
