import { LeadResolvedEvent, parseNotificationName } from '#contracts';
import type { StoredDelivery, VerifiedTarget } from '#delivery';
import type { Codec, OutboxRow } from '#messaging';
import { plannedOperations } from './notifier-target.js';
import { telling } from './telling-limits.js';
import { type TellingRules, unknownOwnerLetters } from './unknown-owner-letter.js';

export interface SweptOptions extends TellingRules {
  codec: Pick<Codec, 'decode'>;
  leaseMs: number;
  wakeTopic: string;
  dlqTopic: string;
}

/**
 * A notification by its row alone. @param name of the delivery, or of a channel, as a hold names it. Undefined for a name that is neither.
 */
export function sweptNotification(name: string, options: SweptOptions): VerifiedTarget | undefined {
  const channel = parseNotificationName(name)?.channel ?? (options.channels.has(name) ? name : undefined);
  if (channel === undefined) return undefined;
  const { leaseMs, wakeTopic, dlqTopic } = options;
  return {
    name: channel,
    nativeIdempotency: false,
    wakeTopic,
    dlqTopic,
    timeoutMs: telling.timeoutMs(leaseMs),
    verification: telling.verification,
    canLookUp: () => false,
    attempts: () => telling.attempts,
    operations: (eventId) => plannedOperations(eventId, name),
    resolved: (stored) => storedLetters(stored, options),
  };
}

/** The event is decoded from the stored bytes. */
async function storedLetters(stored: StoredDelivery, options: SweptOptions): Promise<OutboxRow[]> {
  const event = await options.codec.decode(LeadResolvedEvent, stored.event);
  const [operation] = stored.operations;
  return unknownOwnerLetters(options, event, {
    topic: options.dlqTopic,
    key: stored.recordKey,
    value: stored.event,
    eventId: stored.eventId,
    destination: stored.destination,
    operationKey: operation?.operationKey,
    attempts: operation?.attempts ?? 0,
    firstSeenAtMs: stored.firstSeenAt.getTime(),
    deadlineAtMs: stored.deadlineAt.getTime(),
    traceparent: stored.traceparent,
    tracestate: stored.tracestate,
  });
}
