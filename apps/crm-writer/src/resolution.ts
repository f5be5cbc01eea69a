import {
  headers,
  type LeadAccepted,
  LeadAcceptedEvent,
  type LeadResolved,
  LeadResolvedEvent,
  resolutionName,
  resolutionNamespace,
  topics,
} from '#contracts';
import type { ResolvedDelivery, StoredDelivery } from '#delivery';
import type { Codec, OutboxRow } from '#messaging';
import { nameUuid } from './name-uuid.js';

const namespace = Buffer.from(resolutionNamespace.replaceAll('-', ''), 'hex');

/** What is announced of a delivery that has reached an outcome, whoever found out. */
export type Resolved = Pick<
  ResolvedDelivery<LeadAccepted>,
  'event' | 'generation' | 'state' | 'class' | 'code' | 'operations' | 'resolvedAt'
> & { destination: string };

interface Announcing {
  codec: Codec;
  /** Of the destination: the lead's owner is told about this outcome. */
  primary: boolean;
}

/** What is announced when a delivery reaches an outcome. */
export function toLeadResolved(delivery: Resolved, primary: boolean): LeadResolved {
  const { event, destination, generation, state } = delivery;
  return {
    resolution_id: nameUuid(namespace, resolutionName(event.event_id, destination, { generation, state })),
    event_type: 'lead.resolved',
    version: 1,
    event_id: event.event_id,
    lead_ref: event.lead_ref,
    organization: event.organization,
    source: event.source,
    form: event.form,
    campaign: event.campaign,
    destination,
    primary,
    generation,
    outcome: state,
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
export function resolutionRow(delivery: ResolvedDelivery<LeadAccepted>, { codec, primary }: Announcing): OutboxRow {
  const resolved = toLeadResolved({ ...delivery, destination: delivery.plan.destination }, primary);
  return row(resolved, { codec, key: delivery.record.key, trace: delivery.trace });
}

/** The same of a delivery that is known by its row alone. The event is decoded from the stored bytes. */
export async function storedResolutionRow(stored: StoredDelivery, { codec, primary }: Announcing): Promise<OutboxRow> {
  const event = await codec.decode(LeadAcceptedEvent, stored.event);
  const { traceparent, tracestate } = stored;
  return row(toLeadResolved({ ...stored, event }, primary), { codec, key: stored.recordKey, trace: { traceparent, tracestate } });
}

interface Sending {
  codec: Codec;
  key: Buffer | null;
  trace: { traceparent?: string; tracestate?: string };
}

function row(resolved: LeadResolved, { codec, key, trace }: Sending): OutboxRow {
  const rowHeaders: Record<string, string> = { [headers.eventId]: resolved.event_id, [headers.destinations]: resolved.destination };
  if (trace.traceparent !== undefined) rowHeaders[headers.traceparent] = trace.traceparent;
  if (trace.tracestate !== undefined) rowHeaders[headers.tracestate] = trace.tracestate;
  return { topic: topics.leadResolved, key, value: codec.encode(LeadResolvedEvent, resolved), headers: rowHeaders };
}
