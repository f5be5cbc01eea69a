import type { LeadPayload } from '#contracts';
import type { Submission } from './normalise.js';

/** What the vault keeps of a lead. */
export function leadPayload(lead: Submission, facts: { submittedAt: Date; personKey: string }): LeadPayload {
  const { contact, consent } = lead;
  return {
    contact: {
      ...(contact.name !== undefined && { name: contact.name }),
      ...(contact.email !== undefined && { email: contact.email }),
      ...(contact.phone !== undefined && { phone: contact.phone }),
    },
    ...(lead.message !== undefined && { message: lead.message }),
    ...(lead.form !== undefined && { form: lead.form }),
    ...(lead.campaign !== undefined && { campaign: lead.campaign }),
    custom: lead.custom,
    consent: { given: consent.given, ...(consent.at && { at: consent.at.toISOString() }) },
    submitted_at: facts.submittedAt.toISOString(),
    source: lead.source,
    source_event_id: lead.sourceEventId,
    person_key: facts.personKey,
  };
}
