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

/**
 * What is announced of a lead without a destination: that it is resolved (its only delivery counts as primary, so that somebody is told), and a
 * dead letter by reference.
 */
export function unroutedRecords(
  codec: Pick<Codec, 'encode'>,
  event: LeadAccepted,
  context: { code: UnroutedCode; announced: OutboxRow },
): OutboxRow[] {
  const { code, announced } = context;
  const resolved: LeadResolved = {
    resolution_id: v5(resolutionName(event.event_id, unrouted, { generation: 1, state: 'dead' }), resolutionNamespace),
    event_type: 'lead.resolved',
    version: 1,
    event_id: event.event_id,
    lead_ref: event.lead_ref,
    organization: event.organization,
    source: event.source,
    form: event.form,
    campaign: event.campaign,
    destination: unrouted,
    primary: true,
    generation: 1,
    outcome: 'dead',
    error_class: 'routing',
    error_code: code,
    operations: [],
    submitted_at: event.submitted_at,
    accepted_at: event.accepted_at,
    resolved_at: event.accepted_at,
    test: event.test,
  };
  const deadLetter = {
    ...announced.headers,
    [headers.errorClass]: 'routing',
    [headers.errorCode]: code,
    [headers.errorRef]: `lead:${event.lead_ref}`,
  };
  return [
    { ...announced, topic: topics.leadResolved, value: codec.encode(LeadResolvedEvent, resolved) },
    { ...announced, topic: topics.intakeDlq, headers: deadLetter },
  ];
}
