import { v5 } from 'uuid';
import {
  headers,
  type LeadAccepted,
  type LeadResolved,
  LeadResolvedEvent,
  resolutionName,
  resolutionNamespace,
  topics,
  unrouted,
} from '#contracts';
import type { Codec, OutboxRow } from '#messaging';
import type { UnroutedCode } from './plan-deliveries.js';

/** The lead.accepted record of the same lead, and why it has no destination. */
interface Announced {
  code: UnroutedCode;
  key: Buffer;
  value: Buffer;
  headers: Record<string, string>;
}

/**
 * What is announced of a lead without a destination: that it is resolved (its only delivery counts as primary, so that somebody is told), and a
 * dead letter by reference.
 */
export function unroutedRecords(codec: Pick<Codec, 'encode'>, event: LeadAccepted, announced: Announced): OutboxRow[] {
  const { code, key } = announced;
  const resolved = deadWithoutOwner(event, { destination: unrouted, primary: true, code, resolvedAt: event.accepted_at });
  const deadLetter = {
    ...announced.headers,
    [headers.errorClass]: 'routing',
    [headers.errorCode]: code,
    [headers.errorRef]: `lead:${event.lead_ref}`,
  };
  return [
    { topic: topics.leadResolved, key, value: codec.encode(LeadResolvedEvent, resolved), headers: announced.headers },
    { topic: topics.intakeDlq, key, value: announced.value, headers: deadLetter },
  ];
}

/** What is announced of a delivery that nobody could take: dead, without a call. */
export function deadWithoutOwner(
  event: LeadAccepted,
  { destination, primary, code, resolvedAt }: { destination: string; primary: boolean; code: string; resolvedAt: Date },
): LeadResolved {
  return {
    resolution_id: v5(resolutionName(event.event_id, destination, { generation: 1, state: 'dead' }), resolutionNamespace),
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
    generation: 1,
    outcome: 'dead',
    error_class: 'routing',
    error_code: code,
    operations: [],
    submitted_at: event.submitted_at,
    accepted_at: event.accepted_at,
    resolved_at: resolvedAt,
    test: event.test,
  };
}
