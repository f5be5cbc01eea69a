import type { ExpectedRecord, OperationCall } from '../connector.js';

/**
 * Counted up when a body changes for the same lead and its earlier form is not made any more; pinned to an operation by its first call. What an
 * older one pinned is not sent again by itself.
 */
export const mappingVersion = 1;

/** What a body is made of. */
export type Lead = Pick<OperationCall, 'kind' | 'event' | 'payload' | 'refs'>;

export type WebhookBody = Readonly<Record<string, unknown>>;

/**
 * Bodies of the generic webhook. They depend on the lead alone, never on time or attempt: a repeated operation key comes with the same
 * bytes. Absent fields stay absent. A field of the person that was left empty is absent as well: a blank box in a form must not wipe what the
 * destination knows.
 */
export function webhookBody(lead: Lead, operations: readonly string[]): WebhookBody {
  const body = lead.kind === 'contact' ? contactBody(lead) : leadBody(lead, operations);
  return fieldsWhere(body, (_name, value) => value !== undefined);
}

/**
 * The body as it was made before a person's empty fields were left out where they come with the lead. An operation whose first call sent it
 * goes on with it: another body under the same key would be refused.
 */
export function earlierBody(lead: Lead, operations: readonly string[]): WebhookBody {
  const body = webhookBody(lead, operations);
  return Object.hasOwn(body, 'contact') ? { ...body, contact: lead.payload.contact } : body;
}

/** A plain loop: every call makes several of these. */
function fieldsWhere(fields: object, keeps: (name: string, value: unknown) => boolean): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) if (keeps(name, value)) kept[name] = value;
  return kept;
}

/** Identifies the person in a contact's body: it is no field that a lead writes. */
export const personField = 'person_key';

/** The field that names a record of each kind by a key of ours. */
export const keyField = (kind: string): string => (kind === 'contact' ? personField : 'external_id');

const contactLink = 'contact_id';

/** A record as our write leaves it, without its key; the contact it hangs on is a link, not a field. */
export function expectedRecord(lead: Lead, operations: readonly string[]): ExpectedRecord {
  const sent = JSON.parse(JSON.stringify(webhookBody(lead, operations))) as Record<string, unknown>;
  const fields = fieldsWhere(sent, (name) => name !== keyField(lead.kind) && name !== contactLink);
  const hangsOnContact = lead.kind !== 'contact' && operations.includes('contact');
  return hangsOnContact ? { fields, links: { contact: lead.refs.contact } } : { fields };
}

/** The body without these fields. */
export function without(body: WebhookBody, names: readonly string[]): WebhookBody {
  if (names.length === 0) return body;
  return fieldsWhere(body, (name) => !names.includes(name));
}

/** The first of these paths (`phone`, `custom.owner`) that the body would write. */
export function firstWritten(body: WebhookBody, paths: readonly string[]): string | undefined {
  return paths.find((path) => {
    let place: unknown = body;
    return path.split('.').every((name) => {
      if (typeof place !== 'object' || place === null || !Object.hasOwn(place, name)) return false;
      place = (place as Record<string, unknown>)[name];
      return true;
    });
  });
}

function contactBody({ payload, event }: Lead): object {
  return {
    person_key: payload.person_key,
    ...filledIn(payload.contact),
    consent: payload.consent,
    organization: event.organization,
    source: payload.source,
    lead_ref: event.lead_ref,
    submitted_at: payload.submitted_at,
    ...test(event.test),
  };
}

const filledIn = (contact: Lead['payload']['contact']): object => fieldsWhere(contact, (_name, value) => value !== '');

/** A destination without an operation `contact` gets the person with the lead. */
function leadBody({ kind, payload, event, refs }: Lead, operations: readonly string[]): object {
  const person = operations.includes('contact')
    ? { contact_id: refs.contact }
    : { contact: filledIn(payload.contact), consent: payload.consent };
  return {
    external_id: event.event_id,
    kind: kind === 'lead' ? undefined : kind,
    person_key: payload.person_key,
    ...person,
    lead_ref: event.lead_ref,
    organization: event.organization,
    source: payload.source,
    form: payload.form,
    campaign: payload.campaign,
    message: payload.message,
    custom: payload.custom,
    submitted_at: payload.submitted_at,
    ...test(event.test),
  };
}

const test = (isTest: boolean): object => (isTest ? { test: true } : {});
