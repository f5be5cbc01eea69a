import type { LeadResolved } from '#contracts';
import { newEventId, newLeadRef } from '#runtime';

/** A lead that was delivered to the primary destination of the demo just now, with ids of its own. */
export function resolvedLead(changes: Partial<LeadResolved> = {}): LeadResolved {
  const at = new Date();
  return {
    resolution_id: newEventId(),
    event_type: 'lead.resolved',
    version: 1,
    event_id: newEventId(),
    lead_ref: newLeadRef(),
    organization: 'demo',
    source: 'website',
    form: 'contact',
    campaign: 'autumn',
    destination: 'sandbox-crm',
    primary: true,
    generation: 1,
    outcome: 'delivered',
    error_class: null,
    error_code: null,
    operations: [],
    submitted_at: at,
    accepted_at: at,
    resolved_at: at,
    test: false,
    ...changes,
  };
}
