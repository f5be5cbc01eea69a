import { dlqTopic, groups, LeadAcceptedEvent, retryTopic, topics } from '#contracts';
import type { StoredDelivery, SweptTarget, VerifiedTarget } from '#delivery';
import { lookupKinds, mappingVersion } from '#destinations';
import type { Codec, OutboxRow } from '#messaging';
import { type DestinationConfig, type Site, standsForLead } from '#runtime';
import { attemptsOf, type DestinationTarget, plannedOperations, verificationOf } from './destination-target.js';
import { storedResolutionRow } from './resolution.js';

/** A destination as it is known by rows alone: also one that another process serves. */
export function sweptDestination(config: DestinationConfig, { site, codec }: { site: Site; codec: Codec }): SweptTarget {
  const group = groups.crmWriter(config.name);
  return {
    name: config.name,
    nativeIdempotency: config.nativeIdempotency,
    wakeTopic: (tier) => retryTopic(topics.leadAccepted, group, tier),
    dlqTopic: dlqTopic(topics.leadAccepted, group),
    mappingVersion,
    timeoutMs: config.timeoutMs,
    verification: verificationOf(config),
    canLookUp: (kind) => lookupKinds(config).includes(kind),
    attempts: async (stored: StoredDelivery) => attemptsOf(site.policies, await codec.decode(LeadAcceptedEvent, stored.event)),
    operations: (eventId) => plannedOperations(config, eventId),
    resolved: async (stored) => [await storedResolutionRow(stored, { codec, primary: config.primary })],
  };
}

/** Of the four connections that a connector keeps for lookups and checks. */
const mostLookupsAtOnce = 3;

/** No more at once than writes, and one connection less than there are: a check gets through while every lookup hangs. */
export const lookupsAtOnce = ({ concurrency }: Pick<DestinationConfig, 'concurrency'>): number => Math.min(concurrency, mostLookupsAtOnce);

/** The same of one that this process serves: its operations can be looked up. */
export function verifiedDestination(
  swept: SweptTarget,
  target: DestinationTarget,
  limits: Pick<VerifiedTarget, 'lookupTimeoutMs' | 'lookups' | 'lookupsAtOnce'>,
): VerifiedTarget {
  const { read } = target;
  const lookup: VerifiedTarget['lookup'] = (operation, context) => target.lookup(operation, context);
  return { ...swept, ...limits, lookup, older: (kind) => target.older(kind), ...(read && { read }) };
}

/** What is announced of the end of a delivery whose destination the site file does not have any more. */
export async function orphanedRows(stored: StoredDelivery, { site, codec }: { site: Site; codec: Codec }): Promise<OutboxRow[]> {
  const { destinations } = await codec.decode(LeadAcceptedEvent, stored.event);
  return [await storedResolutionRow(stored, { codec, primary: standsForLead(site, destinations, stored.destination) })];
}
