import { parseNotificationName } from '#contracts';
import type { VerifiedTarget } from '#delivery';
import { plannedOperations } from './notifier-target.js';
import { telling } from './telling-limits.js';

export interface SweptOptions {
  channels: Pick<ReadonlyMap<string, unknown>, 'has'>;
  leaseMs: number;
  wakeTopic: VerifiedTarget['wakeTopic'];
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
    resolved: () => [],
  };
}
