import type { FailureClass, LeadSubmitted } from '#contracts';
import type { Received, UnreadableReason } from '#messaging';
import type { FieldProblem, Hmacs, Site, SourceConfig } from '#runtime';
import { externalRef } from '../prepare-lead.js';
import { type ContactKeys, contactKeys } from '../search/contact-keys.js';
import { type Normalised, normaliseEmail, normalisePhone } from '../submission/contact.js';
import { normalise, type Submission } from '../submission/normalise.js';
import type { RawSubmission } from '../submission/raw-submission.js';

/** Why a record is refused for good. Source and id are given only where the record names a configured source. */
export interface Refused {
  class: FailureClass;
  code: string;
  errors: FieldProblem[];
  source?: SourceConfig;
  externalRef?: string;
  /** The lead that the same id was first used for. */
  eventId?: string;
  /** It says that it is a test lead. */
  test?: boolean;
  /** Of the person that it names, where that can be read. */
  keys?: ContactKeys;
}

/** A record that the use case can decide on. */
export interface ReadableRecord {
  source: SourceConfig;
  externalRef: string;
  submission: Submission;
}

export type ReadRecord = ReadableRecord | Refused;

const unreadable: Record<UnreadableReason, { problem: string; fix: string }> = {
  tombstone: { problem: 'has no value', fix: 'Send a LeadSubmitted; a lead cannot be taken back by a tombstone.' },
  not_avro: { problem: 'is not Avro in Confluent framing', fix: 'Send a zero byte, the 4-byte schema id and the Avro bytes.' },
  unknown_schema: { problem: 'names a schema id that the registry does not know', fix: 'Register the schema first, under leads-value.' },
  undecodable: { problem: 'cannot be read with its schema', fix: 'Serialise with the schema whose id is sent.' },
};

/** The same rules as over HTTP; what HTTP takes from the key (organization, source), a record must say itself. Pure. */
export function readRecord(tools: { site: Site; hmacs: Hmacs }, result: Received<LeadSubmitted>['result']): ReadRecord {
  if (!result.ok) {
    return { class: 'decode', code: result.reason, errors: [{ field: 'record', ...unreadable[result.reason] }] };
  }
  const { event } = result;
  const source = tools.site.sources.find(({ id, organization }) => id === event.source && organization === event.organization);
  if (!source) {
    const fix = 'Send organization and source as they are configured, or have the source configured.';
    const errors = [{ field: 'source', problem: 'is not configured', fix }];
    return { class: 'unknown_source', code: 'not_configured', errors, test: event.test };
  }
  const ref = externalRef(tools.hmacs, { organization: source.organization, source: source.id }, event.source_event_id);
  const normal = normalise(toRaw(event), source);
  if (normal.ok) return { source, externalRef: ref, submission: normal.submission };
  const keys = keysOf(tools.hmacs, event, source);
  return { class: 'invalid', code: 'invalid_fields', errors: normal.errors, source, externalRef: ref, test: event.test, keys };
}

/** So that what is kept of a refused record is found when its person is to be erased. */
function keysOf(hmacs: Hmacs, { contact }: LeadSubmitted, { organization, country }: SourceConfig): ContactKeys {
  const readable = (read: Normalised): string | undefined => ('value' in read ? read.value : undefined);
  return contactKeys(hmacs, organization, {
    email: readable(normaliseEmail(contact.email ?? '')),
    phone: readable(normalisePhone(contact.phone ?? '', country)),
  });
}

function toRaw(event: LeadSubmitted): RawSubmission {
  return {
    sourceEventId: event.source_event_id,
    form: event.form,
    campaign: event.campaign,
    submittedAt: event.submitted_at,
    contact: event.contact,
    message: event.message,
    consent: event.consent,
    custom: event.custom,
    supersedes: event.supersedes,
    test: event.test,
  };
}
