import type { LeadPayload } from '#contracts';
import type { ExpectedLead } from '../connector.js';

/** Fields of a person, as they are compared. */
export type PartyFields = Partial<Record<'name' | 'email' | 'phone', string>>;

/** What a lead writes into its opportunity, beside the party and the employee. */
export interface OpportunityFields {
  description: string;
  comment: string;
}

const clean = (text: string): string => text.replaceAll('\0', '').trim();

/** The person's fields that were filled in: a blank box in a form must not wipe what is known. */
export function partyFields({ contact }: Pick<LeadPayload, 'contact'>): PartyFields {
  const { name, email, phone } = contact;
  return Object.fromEntries(
    Object.entries({ name, email, phone })
      .map(([field, value]) => [field, clean(value ?? '')])
      .filter(([, value]) => value !== ''),
  ) as PartyFields;
}

/** One line to find it by, and everything that the person said. Depends on the lead alone, so that a repeat is the same. */
export function opportunityFields({ event, payload }: Pick<ExpectedLead, 'event' | 'payload'>): OpportunityFields {
  const about = [payload.form, payload.campaign].map((text) => oneLine(text ?? '')).filter((text) => text !== '');
  const description = about.length > 0 ? about.join(' / ') : oneLine(payload.source);
  const custom = Object.entries(payload.custom).map(([name, value]) => `${name}: ${value ?? ''}`);
  const origin = [`Source: ${payload.source}`, `Submitted: ${payload.submitted_at}`, `Lead: ${event.lead_ref}`];
  const parts = [payload.message ?? '', custom.join('\n'), origin.join('\n')].map(clean).filter((part) => part !== '');
  return { description: event.test ? `[test] ${description}` : description, comment: parts.join('\n\n') };
}

const oneLine = (text: string): string => clean(text.replace(/\s+/g, ' '));

/** A number without its extension and without what people and Tryton put between the digits: the same number is the same text. */
export function comparablePhone(text: string): string {
  const [, plus = '', digits = ''] = /^\s*(\+?)([\d\s().\-/]*)/.exec(text) ?? [];
  return plus + digits.replace(/\D/g, '');
}

/** The part behind the @ has no case. */
export function comparableEmail(text: string): string {
  const at = text.lastIndexOf('@');
  return at < 0 ? text.trim() : (text.slice(0, at) + text.slice(at).toLowerCase()).trim();
}

/** As `comparable…` makes them of what is read. */
export function comparable({ name, email, phone }: PartyFields): PartyFields {
  return {
    ...(name !== undefined && { name }),
    ...(email !== undefined && { email: comparableEmail(email) }),
    ...(phone !== undefined && { phone: comparablePhone(phone) }),
  };
}
