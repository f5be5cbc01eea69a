import type { LeadPayload } from '#contracts';
import type { CustomValue } from './raw-submission.js';
import { slug } from './slug.js';

/**
 * The business fields of a lead as one text, equal for equal content: organization, source, form, campaign, contact, message, custom fields in
 * the order of their names, consent flag. Times, headers and key order play no part. A custom value counts as its text, so that 5 over HTTP
 * equals "5" on the topic, which carries text only.
 */
export function canonical(organization: string, payload: LeadPayload): string {
  const { contact } = payload;
  const custom = Object.entries(payload.custom)
    .map(([name, value]): [string, string | null] => [name, customText(value)])
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([
    organization,
    payload.source,
    slugOrNull(payload.form),
    slugOrNull(payload.campaign),
    contact.name ?? null,
    contact.email ?? null,
    contact.phone ?? null,
    payload.message ?? null,
    custom,
    payload.consent.given,
  ]);
}

const slugOrNull = (text: string | undefined): string | null => (text === undefined ? null : slug(text));
const customText = (value: CustomValue): string | null => (value === null ? null : String(value));
