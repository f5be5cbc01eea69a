// Generated from schemas/ by `npm run generate`. Do not edit.

import type { EventDescriptor } from '../event.js';

export interface Contact {
  name: null | string;
  email: null | string;
  /** E.164, or a national number of the source's configured country. */
  phone: null | string;
}

export interface Consent {
  given: boolean;
  at: null | Date;
}

/** A lead as an upstream system hands it in on the topic `leads`. The only contract that carries personal data; short retention, own ACL. */
export interface LeadSubmitted {
  /** The source's own id of this submission, minted once and kept across its retries. With organization and source it is the idempotency key. */
  source_event_id: string;
  organization: string;
  source: string;
  form: null | string;
  campaign: null | string;
  /** When the person submitted. Deadlines run from here. */
  submitted_at: Date;
  contact: Contact;
  message: null | string;
  consent: Consent;
  /** Extra form fields as text; an integer beyond 2^53 keeps every digit. */
  custom: Record<string, string>;
  /** source_event_id of the submission this one legitimately changes. */
  supersedes: null | string;
  /** Goes to sandbox destinations only and stays out of business metrics. */
  test: boolean;
}

export const LeadSubmittedEvent: EventDescriptor<LeadSubmitted> = {
  name: 'leads',
  topic: 'leads',
  subject: 'leads-value',
  schemaVersion: 1,
  schema:
    '{"type":"record","name":"LeadSubmitted","namespace":"leads","doc":"A lead as an upstream system hands it in on the topic `leads`. The only contract that carries personal data; short retention, own ACL.","fields":[{"name":"source_event_id","type":"string","doc":"The source\'s own id of this submission, minted once and kept across its retries. With organization and source it is the idempotency key."},{"name":"organization","type":"string"},{"name":"source","type":"string"},{"name":"form","type":["null","string"],"default":null},{"name":"campaign","type":["null","string"],"default":null},{"name":"submitted_at","type":{"type":"long","logicalType":"timestamp-millis"},"doc":"When the person submitted. Deadlines run from here."},{"name":"contact","type":{"type":"record","name":"Contact","fields":[{"name":"name","type":["null","string"],"default":null},{"name":"email","type":["null","string"],"default":null},{"name":"phone","type":["null","string"],"default":null,"doc":"E.164, or a national number of the source\'s configured country."}]}},{"name":"message","type":["null","string"],"default":null},{"name":"consent","type":{"type":"record","name":"Consent","fields":[{"name":"given","type":"boolean"},{"name":"at","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null}]}},{"name":"custom","type":{"type":"map","values":"string"},"default":{},"doc":"Extra form fields as text; an integer beyond 2^53 keeps every digit."},{"name":"supersedes","type":["null","string"],"default":null,"doc":"source_event_id of the submission this one legitimately changes."},{"name":"test","type":"boolean","default":false,"doc":"Goes to sandbox destinations only and stays out of business metrics."}]}',
} as const;

/** A lead is saved and will be delivered. References only: no name, e-mail, phone or free text. */
export interface LeadAccepted {
  /** UUID v7 made at first acceptance; immutable. Dedupe on it. */
  event_id: string;
  /** lead.accepted */
  event_type: string;
  /** Major version of this contract; stays 1 through compatible changes. */
  version: number;
  /** Stable reference of the lead; the vault is read with it. */
  lead_ref: string;
  organization: string;
  source: string;
  /** Keyed hash of the source's own event id. */
  source_event_ref: string;
  /** Slug. */
  form: null | string;
  /** Slug. */
  campaign: null | string;
  submitted_at: Date;
  accepted_at: Date;
  deadline_at: Date;
  policy: string;
  /** Keyed hash of the normalised business fields, versioned (v1:hex). */
  payload_hmac: string;
  consent: boolean;
  test: boolean;
  destinations: string[];
}

export const LeadAcceptedEvent: EventDescriptor<LeadAccepted> = {
  name: 'lead.accepted',
  topic: 'lead.accepted',
  subject: 'lead.accepted-value',
  schemaVersion: 1,
  schema:
    '{"type":"record","name":"LeadAccepted","namespace":"lead","doc":"A lead is saved and will be delivered. References only: no name, e-mail, phone or free text.","fields":[{"name":"event_id","type":"string","doc":"UUID v7 made at first acceptance; immutable. Dedupe on it."},{"name":"event_type","type":"string","doc":"lead.accepted"},{"name":"version","type":"int","doc":"Major version of this contract; stays 1 through compatible changes."},{"name":"lead_ref","type":"string","doc":"Stable reference of the lead; the vault is read with it."},{"name":"organization","type":"string"},{"name":"source","type":"string"},{"name":"source_event_ref","type":"string","doc":"Keyed hash of the source\'s own event id."},{"name":"form","type":["null","string"],"default":null,"doc":"Slug."},{"name":"campaign","type":["null","string"],"default":null,"doc":"Slug."},{"name":"submitted_at","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"accepted_at","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"deadline_at","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"policy","type":"string"},{"name":"payload_hmac","type":"string","doc":"Keyed hash of the normalised business fields, versioned (v1:hex)."},{"name":"consent","type":"boolean"},{"name":"test","type":"boolean","default":false},{"name":"destinations","type":{"type":"array","items":"string"}}]}',
} as const;

export interface OperationResult {
  operation_key: string;
  kind: string;
  state: string;
  ref: null | string;
  attempts: number;
}

/** One delivery (event id, destination) reached an outcome, or a replay changed it. References only. */
export interface LeadResolved {
  /** UUID v5 of event id, destination, generation and outcome. Dedupe on it. */
  resolution_id: string;
  /** lead.resolved */
  event_type: string;
  version: number;
  event_id: string;
  lead_ref: string;
  organization: string;
  source: string;
  form: null | string;
  campaign: null | string;
  destination: string;
  /** The destination on whose outcome the owner is told. */
  primary: boolean;
  generation: number;
  /** Open set: delivered, dead, expired, discarded, erased. */
  outcome: string;
  error_class: null | string;
  error_code: null | string;
  operations: OperationResult[];
  submitted_at: Date;
  accepted_at: Date;
  resolved_at: Date;
  test: boolean;
}

export const LeadResolvedEvent: EventDescriptor<LeadResolved> = {
  name: 'lead.resolved',
  topic: 'lead.resolved',
  subject: 'lead.resolved-value',
  schemaVersion: 1,
  schema:
    '{"type":"record","name":"LeadResolved","namespace":"lead","doc":"One delivery (event id, destination) reached an outcome, or a replay changed it. References only.","fields":[{"name":"resolution_id","type":"string","doc":"UUID v5 of event id, destination, generation and outcome. Dedupe on it."},{"name":"event_type","type":"string","doc":"lead.resolved"},{"name":"version","type":"int"},{"name":"event_id","type":"string"},{"name":"lead_ref","type":"string"},{"name":"organization","type":"string"},{"name":"source","type":"string"},{"name":"form","type":["null","string"],"default":null},{"name":"campaign","type":["null","string"],"default":null},{"name":"destination","type":"string"},{"name":"primary","type":"boolean","doc":"The destination on whose outcome the owner is told."},{"name":"generation","type":"int","default":1},{"name":"outcome","type":"string","doc":"Open set: delivered, dead, expired, discarded, erased."},{"name":"error_class","type":["null","string"],"default":null},{"name":"error_code","type":["null","string"],"default":null},{"name":"operations","type":{"type":"array","items":{"type":"record","name":"OperationResult","fields":[{"name":"operation_key","type":"string"},{"name":"kind","type":"string"},{"name":"state","type":"string"},{"name":"ref","type":["null","string"],"default":null},{"name":"attempts","type":"int","default":0}]}}},{"name":"submitted_at","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"accepted_at","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"resolved_at","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"test","type":"boolean","default":false}]}',
} as const;
