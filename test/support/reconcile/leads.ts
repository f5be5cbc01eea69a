import { type LeadAccepted, LeadAcceptedEvent, type LeadPayload } from '#contracts';
import { createCodec } from '#messaging';
import { createLogger, hmacs, newEventId } from '#runtime';

const schema = ({ subject, schemaVersion, schema: text }: typeof LeadAcceptedEvent) => ({
  subject,
  version: schemaVersion,
  id: 1,
  schema: text,
});

export const codec = createCodec({ known: [schema(LeadAcceptedEvent)] });
export const keyed = hmacs(Buffer.alloc(32, 5));

/** Of the reconciler at the internal APIs. */
export const token = 'reconciler-token-16chars';
export const silent = createLogger('reconciler', 'silent');

/** A lead of the tests, by its number. */
export interface MadeLead {
  n: number;
  event: LeadAccepted;
  payload: LeadPayload;
  contactRef: string;
  leadRef: string;
}

/** Every tenth lead is the second of the person before. */
export const personOf = (n: number): number => (n % 10 === 9 ? n - 1 : n);

/** Leads one after another, the first at `fromMs`. The second lead of a person has another telephone number. */
export function makeLeads(count: number, fromMs: number): MadeLead[] {
  return Array.from({ length: count }, (_, n) => makeLead(n, fromMs + n * 10));
}

function makeLead(n: number, atMs: number): MadeLead {
  const person = personOf(n);
  const email = `person-${person}@example.test`;
  const submitted = new Date(atMs);
  const event: LeadAccepted = {
    event_id: newEventId(atMs),
    event_type: 'lead.accepted',
    version: 1,
    lead_ref: `L-${String(n).padStart(16, '0')}`,
    organization: 'demo',
    source: 'website',
    source_event_ref: 'ref',
    form: 'contact',
    campaign: n % 2 === 0 ? 'autumn' : 'spring',
    submitted_at: submitted,
    accepted_at: submitted,
    deadline_at: new Date(atMs + 4 * 3_600_000),
    policy: 'default',
    payload_hmac: 'v1:0',
    consent: true,
    test: false,
    destinations: ['crm'],
  };
  const payload: LeadPayload = {
    contact: { name: `Person ${person}`, email, phone: `+120255501${String((n % 10) + 10)}` },
    message: `Message ${n}`,
    form: 'Contact',
    custom: {},
    consent: { given: true },
    submitted_at: submitted.toISOString(),
    source: 'website',
    source_event_id: `web-${n}`,
    person_key: keyed.personKey('demo', { email, ref: '' }),
  };
  return { n, event, payload, contactRef: '', leadRef: '' };
}
