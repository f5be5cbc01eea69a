import {
  dlqTopic,
  type EventDescriptor,
  groups,
  LeadAcceptedEvent,
  LeadResolvedEvent,
  parseNotificationName,
  refusedRecord,
  replayTopic,
  topics,
  unrouted,
} from '#contracts';
import type { Site } from '#runtime';
import type { OwningService } from './letter.js';

/** One dead-letter topic: whose it is, what its records carry, and where an approved item of it travels. */
export interface DeadLetterSource {
  topic: string;
  service: OwningService;
  /** Every record of the topic is for this one; absent: the record says. */
  destination?: string;
  event: EventDescriptor<unknown>;
  /** Absent: there is nothing to replay from. */
  replayTopic?: string;
}

/** Every dead-letter topic by its name. */
export function deadLetterSources(destinations: readonly string[]): ReadonlyMap<string, DeadLetterSource> {
  const writers = destinations.map((destination): DeadLetterSource => {
    const group = groups.crmWriter(destination);
    return {
      topic: dlqTopic(topics.leadAccepted, group),
      service: 'crm-writer',
      destination,
      event: LeadAcceptedEvent,
      replayTopic: replayTopic(topics.leadAccepted, group),
    };
  });
  const notifier: DeadLetterSource = {
    topic: dlqTopic(topics.leadResolved, groups.notifier),
    service: 'notifier',
    event: LeadResolvedEvent,
    replayTopic: replayTopic(topics.leadResolved, groups.notifier),
  };
  const intake: DeadLetterSource = {
    topic: topics.intakeDlq,
    service: 'intake',
    event: LeadAcceptedEvent,
    replayTopic: topics.intakeReplay,
  };
  return new Map([...writers, notifier, intake].map((source) => [source.topic, source]));
}

/** A lead without a route, or a refused record: intake itself decides on it again. */
const isIntakes = (service: OwningService, destination: string): boolean =>
  service === 'intake' && (destination === unrouted || destination === refusedRecord);

/** Where a delivery's approved item travels; undefined where nothing can be replayed. */
export function replayTopicOf(service: OwningService, destination: string): string | undefined {
  if (service === 'crm-writer') return replayTopic(topics.leadAccepted, groups.crmWriter(destination));
  if (isIntakes(service, destination)) return topics.intakeReplay;
  return service === 'notifier' ? replayTopic(topics.leadResolved, groups.notifier) : undefined;
}

/**
 * What a delivery needs and the site file does not have any more, in words: its destination, or the channel of a notification. Nobody reads
 * what is sent to it, and its owner takes no command for it. Undefined where all is there.
 */
export function missingFromSite(
  site: Pick<Site, 'destinations' | 'channels'>,
  service: OwningService,
  destination: string,
): string | undefined {
  if (isIntakes(service, destination)) return undefined;
  if (service !== 'notifier') return Object.hasOwn(site.destinations, destination) ? undefined : `destination ${destination}`;
  const channel = parseNotificationName(destination)?.channel ?? destination;
  return Object.hasOwn(site.channels, channel) ? undefined : `channel ${channel}`;
}

/** Address that a destination is called at, without credentials or query; undefined for one that is not configured any more. */
export function endpointOf(site: Pick<Site, 'destinations'>, destination: string | undefined): string | undefined {
  const config = destination === undefined ? undefined : site.destinations[destination];
  if (config === undefined || !URL.canParse(config.baseUrl)) return undefined;
  const { origin, pathname } = new URL(config.baseUrl);
  return `${origin}${pathname}`;
}
