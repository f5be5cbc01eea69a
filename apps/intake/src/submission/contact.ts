import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js';
import validator from 'validator';
import { isPlainEmail, isPlainPhone } from './plain-contact.js';

/** A value in its one normal form, or why it has none. */
export type Normalised = { value: string } | { problem: string; fix: string };

/**
 * The one e-mail rule: surrounding white space goes, the domain becomes lower case, nothing else changes (dots, plus tags and the case of the
 * local part are the mailbox owner's business). Empty text stays empty.
 */
export function normaliseEmail(text: string): Normalised {
  const trimmed = text.trim();
  if (trimmed === '') return { value: '' };
  const at = trimmed.lastIndexOf('@');
  const address = trimmed.slice(0, at + 1) + trimmed.slice(at + 1).toLowerCase();
  if (!isPlainEmail(address) && !validator.isEmail(address)) {
    return { problem: 'is not an e-mail address', fix: 'Send one address such as name@example.test, or leave the field out.' };
  }
  return { value: address };
}

/** Who the address belongs to: the whole of it in lower case, since no mail provider in use tells mailboxes apart by case. */
export function emailIdentity(email: string): string {
  return email.toLowerCase();
}

/**
 * The one phone rule: E.164, national numbers read in the source's country, an extension kept as `;ext=`. A number that no country could have
 * (by length) is refused rather than stamped with a wrong prefix. Empty text stays empty.
 */
export function normalisePhone(text: string, country: string): Normalised {
  const trimmed = text.trim();
  if (trimmed === '' || isPlainPhone(trimmed)) return { value: trimmed };
  const home = isSupportedCountry(country) ? (country as CountryCode) : undefined;
  // extract: false, or a number would be picked out of a sentence and the rest lost.
  const phone = parsePhoneNumberFromString(trimmed, { defaultCountry: home, extract: false });
  if (!phone?.isPossible()) {
    return {
      problem: 'is not a phone number',
      fix: `Send it in international form such as +12025550123, or as a national number of ${home ?? 'the source’s country'}, or leave the field out.`,
    };
  }
  return { value: phone.ext ? `${phone.number};ext=${phone.ext}` : phone.number };
}
