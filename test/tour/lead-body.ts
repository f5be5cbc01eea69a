import type { NewLead } from './world.js';

/** The contact of a fictional person: the same number within a campaign is the same person. */
export function contactOf({ campaign, person, email }: NewLead): { name: string; email: string; phone: null } {
  return { name: `Tilda Tour ${person}`, email: email ?? `tilda.${campaign}.${person}@example.test`, phone: null };
}

/** Body of `POST /v1/leads`. Without consent to marketing: a lead of the tour goes to the destination that is looked at, and to no other. */
export function leadBody(lead: NewLead): Record<string, unknown> {
  const { sourceEventId, form, campaign, custom, message } = lead;
  return {
    source_event_id: sourceEventId,
    form,
    campaign,
    contact: contactOf(lead),
    message: message ?? 'What does delivery cost?',
    consent: { given: false },
    ...(custom && { custom }),
  };
}
