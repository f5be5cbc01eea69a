import type { Call } from '../http/call.js';

export const crmKinds = ['lead', 'contact'] as const;
export type CrmKind = (typeof crmKinds)[number];

/** `us`: a request that was signed with the destination's secret. `other`: anybody else, people at the CRM's own screens among them. */
export type Author = 'us' | 'other';

/** A stored body stays JSON text, which is cheap to keep by the hundred thousand; it is parsed again only to be shown or changed. */
export interface CrmRecord {
  id: string;
  kind: CrmKind;
  /** external id of a lead, person key of a contact; empty: typed in by hand, without an id of ours */
  key: string;
  text: string;
  receivedMs: number;
  committedMs: number;
  changedMs: number;
  /** Place in the order of changes, over all records of a CRM. */
  sequence: number;
  changedBy: Author;
  /** Changes since it was made, by whomever. */
  updates: number;
  traceparent?: string;
  tracestate?: string;
  idempotencyKey?: string;
}

/** Field that identifies a record of each kind, in bodies and in lookups. */
export const keyField: Record<CrmKind, string> = { contact: 'person_key', lead: 'external_id' };

/** What the CRM itself fills in; a body or a person may say otherwise. */
const defaults: Record<CrmKind, object> = { contact: { status: 'new' }, lead: { status: 'new', owner: 'desk' } };

/** The body with which a record was made, and what is its own: it is made of a request, or of a hand's typing. */
export interface Writing {
  text: string;
  by: Author;
  receivedMs: number;
  traceparent?: string;
  tracestate?: string;
  idempotencyKey?: string;
}

export function writingOf(call: Call, by: Author): Writing {
  return {
    text: call.body,
    by,
    receivedMs: call.receivedMs,
    traceparent: header(call, 'traceparent'),
    tracestate: header(call, 'tracestate'),
    idempotencyKey: header(call, 'idempotency-key'),
  };
}

function header(call: Call, name: string): string | undefined {
  const value = call.headers[name];
  return Array.isArray(value) ? value.at(-1) : value;
}

/** A record as the API gives it. */
export function shown(record: CrmRecord): Record<string, unknown> {
  const { id, kind, text, receivedMs, committedMs, changedMs, changedBy, updates, traceparent, tracestate, idempotencyKey } = record;
  return {
    ...defaults[kind],
    ...(JSON.parse(text) as Record<string, unknown>),
    id,
    version: updates + 1,
    created_at: new Date(committedMs).toISOString(),
    changed_at: new Date(changedMs).toISOString(),
    changed_by: changedBy,
    received_at: new Date(receivedMs).toISOString(),
    committed_at: new Date(committedMs).toISOString(),
    updates,
    traceparent,
    tracestate,
    idempotency_key: idempotencyKey,
  };
}
