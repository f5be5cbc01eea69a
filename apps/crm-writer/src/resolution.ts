import { headers, type LeadAccepted, type LeadResolved, LeadResolvedEvent, topics } from '#contracts';
import type { ResolvedDelivery } from '#delivery';
import type { Codec, OutboxRow } from '#messaging';
import { nameUuid } from './name-uuid.js';

/** Namespace of resolution ids; part of the contract, so never changed. */
const namespace = Buffer.from('6f9dd2b44d0c5f0e9a510c8f4a6d2e17', 'hex');
const generation = 1;

/** What is announced when a delivery reaches an outcome. */
export function toLeadResolved(delivery: ResolvedDelivery<LeadAccepted>, primary: boolean): LeadResolved {
  const { event, plan } = delivery;
  return {
    resolution_id: nameUuid(namespace, `${event.event_id}:${plan.destination}:${generation}:${delivery.state}`),
    event_type: 'lead.resolved',
    version: 1,
    event_id: event.event_id,
    lead_ref: event.lead_ref,
    organization: event.organization,
    source: event.source,
    form: event.form,
    campaign: event.campaign,
    destination: plan.destination,
    primary,
    generation,
    outcome: delivery.state,
    error_class: delivery.class ?? null,
    error_code: delivery.code ?? null,
    operations: delivery.operations.map(({ kind, operationKey, state, ref, attempts }) => ({
      operation_key: operationKey,
      kind,
      state,
      ref: ref ?? null,
      attempts,
    })),
    submitted_at: event.submitted_at,
    accepted_at: event.accepted_at,
    resolved_at: delivery.resolvedAt,
    test: event.test,
  };
}

/** The outbox row of `lead.resolved`, under the key of the record that brought the lead and in the trace of its processing. */
export function resolutionRow(delivery: ResolvedDelivery<LeadAccepted>, { codec, primary }: { codec: Codec; primary: boolean }): OutboxRow {
  const rowHeaders: Record<string, string> = {
    [headers.eventId]: delivery.event.event_id,
    [headers.destinations]: delivery.plan.destination,
    [headers.traceparent]: delivery.trace.traceparent,
  };
  if (delivery.trace.tracestate !== undefined) rowHeaders[headers.tracestate] = delivery.trace.tracestate;
  return {
    topic: topics.leadResolved,
    key: delivery.record.key,
    value: codec.encode(LeadResolvedEvent, toLeadResolved(delivery, primary)),
    headers: rowHeaders,
  };
}
