import type { Hmacs } from '#runtime';
import type { PreparedLead } from '../prepare-lead.js';
import type { StoredKey } from '../store/find-keys.js';
import { canonical } from '../submission/canonical.js';

/** Whether a repeat says what was accepted first, except that consent is not given any more. Pure. */
export function withdrawsConsent(hmacs: Hmacs, { row, payload }: PreparedLead, stored: Pick<StoredKey, 'fingerprint'>): boolean {
  if (payload.consent.given) return false;
  const before = { ...payload, consent: { given: true } };
  return hmacs.fingerprint(row.organization, canonical(row.organization, before)) === stored.fingerprint;
}
