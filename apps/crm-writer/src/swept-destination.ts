import { dlqTopic, groups, LeadAcceptedEvent, retryTopic, topics } from '#contracts';
import type { SweptTarget, VerifiedTarget } from '#delivery';
import type { Codec } from '#messaging';
import type { DestinationConfig, Site } from '#runtime';
import { attemptsOf, type DestinationTarget, plannedOperations, verificationOf } from './destination-target.js';
import { storedResolutionRow } from './resolution.js';

export interface SweptDestinationOptions {
  config: DestinationConfig;
  policies: Site['policies'];
  codec: Codec;
}

/** One destination by its rows alone: also where another process serves it. */
export function sweptDestination({ config, policies, codec }: SweptDestinationOptions): SweptTarget {
  const group = groups.crmWriter(config.name);
  return {
    name: config.name,
    nativeIdempotency: config.nativeIdempotency,
    wakeTopic: retryTopic(topics.leadAccepted, group, '15s'),
    dlqTopic: dlqTopic(topics.leadAccepted, group),
    timeoutMs: config.timeoutMs,
    verification: verificationOf(config),
    canLookUp: (kind) => config.lookup[kind] !== undefined,
    attempts: async (stored) => attemptsOf(policies, await codec.decode(LeadAcceptedEvent, stored.event)),
    operations: (eventId) => plannedOperations(config, eventId),
    resolved: async (stored) => [await storedResolutionRow(stored, { codec, primary: config.primary })],
  };
}

/** One destination that this process can ask. */
export function verifiedDestination(options: SweptDestinationOptions, target: DestinationTarget): VerifiedTarget {
  return {
    ...sweptDestination(options),
    canLookUp: (kind) => target.canLookUp(kind),
    lookup: (operation, context) => target.lookup(operation, context),
    lookupTimeoutMs: options.config.lookupTimeoutMs,
  };
}
