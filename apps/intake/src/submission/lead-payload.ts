import type { LeadPayload } from '#contracts';
import type { Submission } from './normalise.js';

/** What the vault keeps of a lead. */
export function leadPayload(lead: Submission, facts: { submittedAt: Date; personKey: string }): LeadPayload {
  const { contact, consent } = lead;
  // What is absent stands here as undefined, which JSON leaves out.
  return {
    contact: { name: contact.name, email: contact.email, phone: contact.phone },
    message: lead.message,
    form: lead.form,
    campaign: lead.campaign,
    custom: lead.custom,
    consent: { given: consent.given, at: consent.at?.toISOString() },
    submitted_at: facts.submittedAt.toISOString(),
    source: lead.source,
    source_event_id: lead.sourceEventId,
    person_key: facts.personKey,
  };
}
