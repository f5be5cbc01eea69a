import type { OperationCall } from '../connector.js';

/** Counted up when a body changes for the same lead; pinned to an operation by its first call. */
export const mappingVersion = 1;

/**
 * Bodies of the generic webhook. They depend on the lead alone, never on time or attempt: a repeated operation key comes with the same
 * bytes. Absent fields stay absent, empty text stays empty: an update can tell the two apart.
 */
export function webhookBody(call: OperationCall, operations: readonly string[]): string {
  return JSON.stringify(call.kind === 'contact' ? contactBody(call) : leadBody(call, operations));
}

function contactBody({ payload, event }: OperationCall): object {
  return {
    person_key: payload.person_key,
    ...payload.contact,
    consent: payload.consent,
    organization: event.organization,
    source: payload.source,
    lead_ref: event.lead_ref,
    submitted_at: payload.submitted_at,
    ...test(event.test),
  };
}

/** A destination without an operation `contact` gets the person with the lead. */
function leadBody({ kind, payload, event, refs }: OperationCall, operations: readonly string[]): object {
  const person = operations.includes('contact') ? { contact_id: refs.contact } : { contact: payload.contact, consent: payload.consent };
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
