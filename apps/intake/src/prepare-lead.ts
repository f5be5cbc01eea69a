import { headers, type LeadAccepted, LeadAcceptedEvent, type LeadPayload, unrouted } from '#contracts';
import type { Codec } from '#messaging';
import { type Hmacs, type KeyRing, newEventId, newLeadRef, type Site, seal, type TraceContext } from '#runtime';
import { type DeliveryPlan, planDeliveries } from './plan-deliveries.js';
import { type ContactKeys, contactKeys, searchKey } from './search/contact-keys.js';
import type { NewLead } from './store/new-lead.js';
import { canonical } from './submission/canonical.js';
import { leadPayload } from './submission/lead-payload.js';
import type { Submission } from './submission/normalise.js';
import { unroutedRecords } from './unrouted-records.js';
import { vaultAad } from './vault/vault-aad.js';

/** What turning a submission into rows needs; all of it works without I/O. */
export interface PrepareTools {
  site: Site;
  codec: Pick<Codec, 'encode'>;
  hmacs: Hmacs;
  ring: KeyRing;
}

/** A lead ready to be saved, and its payload in the clear, for this process only. */
export interface PreparedLead {
  row: NewLead;
  payload: LeadPayload;
}

/** Routes, hashes, seals and encodes one submission at PostgreSQL's time `now`; `trace` is the span that creates the event. */
export function prepareLead(
  tools: PrepareTools,
  lead: Submission,
  at: { now: Date; trace: TraceContext; deadlineAt?: Date },
): PreparedLead {
  const { organization } = lead;
  const eventId = newEventId(at.now.getTime());
  const leadRef = newLeadRef();
  const submittedAt = lead.submittedAt ?? at.now;
  const keys = contactKeys(tools.hmacs, organization, lead.contact);
  const personKey = keys.email ?? keys.phone ?? tools.hmacs.personKey(organization, { ref: leadRef });
  const payload = leadPayload(lead, { submittedAt, personKey });
  const plan = planDeliveries(tools.site, lead);
  const event: LeadAccepted = {
    event_id: eventId,
    event_type: 'lead.accepted',
    version: 1,
    lead_ref: leadRef,
    organization,
    source: lead.source,
    source_event_ref: externalRef(tools.hmacs, lead, lead.sourceEventId),
    form: lead.formSlug ?? null,
    campaign: lead.campaignSlug ?? null,
    submitted_at: submittedAt,
    accepted_at: at.now,
    deadline_at: at.deadlineAt ?? new Date(submittedAt.getTime() + plan.policy.deadlineMs),
    policy: plan.policy.name,
    payload_hmac: tools.hmacs.fingerprint(organization, canonical(organization, payload)),
    consent: lead.consent.given,
    test: lead.test,
    destinations: plan.destinations,
  };
  const row = toRow(tools, { event, payload, plan, keys, trace: at.trace });
  if (lead.supersedes !== undefined) row.supersedesRef = externalRef(tools.hmacs, lead, lead.supersedes);
  return { row, payload };
}

/** Keyed hash of a source's own id; equal ids of two sources give different hashes. */
export function externalRef(hmacs: Hmacs, from: { organization: string; source: string }, sourceEventId: string): string {
  return hmacs.ref(from.organization, `${from.source}\n${sourceEventId}`);
}

interface RowParts {
  event: LeadAccepted;
  payload: LeadPayload;
  plan: DeliveryPlan;
  keys: ContactKeys;
  trace: TraceContext;
}

function toRow(tools: PrepareTools, { event, payload, plan, keys, trace }: RowParts): NewLead {
  const recordKey = Buffer.from(payload.person_key, 'utf8');
  const bytes = tools.codec.encode(LeadAcceptedEvent, event);
  const recordHeaders = announcementHeaders(event, trace);
  return {
    organization: event.organization,
    source: event.source,
    externalRef: event.source_event_ref,
    fingerprint: event.payload_hmac,
    eventId: event.event_id,
    leadRef: event.lead_ref,
    form: event.form ?? undefined,
    campaign: event.campaign ?? undefined,
    submittedAt: event.submitted_at,
    acceptedAt: event.accepted_at,
    deadlineAt: event.deadline_at,
    policy: event.policy,
    owner: plan.owner,
    test: event.test,
    recordKey,
    emailKey: searchKey(keys.email),
    phoneKey: searchKey(keys.phone),
    event: bytes,
    trace,
    sealed: seal(tools.ring, Buffer.from(JSON.stringify(payload), 'utf8'), vaultAad(event.lead_ref, 1)),
    deliveries: plan.unrouted
      ? [{ destination: unrouted, state: 'dead', class: 'routing', code: plan.unrouted }]
      : plan.destinations.map((destination) => ({ destination, state: 'accepted' })),
    headers: recordHeaders,
    outbox: plan.unrouted
      ? unroutedRecords(tools.codec, event, { code: plan.unrouted, key: recordKey, value: bytes, headers: recordHeaders })
      : [],
  };
}

/** Headers of the lead.accepted record; `trace` is the span that creates it. */
export function announcementHeaders(event: LeadAccepted, trace: TraceContext): Record<string, string> {
  return {
    [headers.eventId]: event.event_id,
    [headers.destinations]: event.destinations.join(','),
    [headers.deadlineAt]: String(event.deadline_at.getTime()),
    [headers.traceparent]: trace.traceparent,
    ...(trace.tracestate && { [headers.tracestate]: trace.tracestate }),
  };
}
