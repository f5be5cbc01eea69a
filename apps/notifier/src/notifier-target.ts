import { type LeadResolved, operationKey } from '#contracts';
import type { Outcome, PerformContext, PlannedDelivery, PlannedOperation, Target } from '#delivery';
import { metrics, type Site } from '#runtime';
import type { OpenChannel } from './open-channels.js';
import { decideTelling } from './telling/decide-telling.js';
import { messageText } from './telling/message-text.js';
import { notificationName, parseNotificationName } from './telling/notification-key.js';

export interface NotifierTargetOptions {
  site: Site;
  channels: ReadonlyMap<string, OpenChannel>;
  /** How long a claim holds, in milliseconds: a call has to end well before. */
  leaseMs: number;
}

/** Milliseconds for one call of a channel at most. */
const maxTimeoutMs = 10_000;
/** A message about yesterday's lead is of no use to anybody; until then it is tried. */
const usefulForMs = 24 * 3_600_000;

/** The word of `leads_notifications_total` for each outcome of a call. */
const countedAs: Readonly<Record<Outcome['kind'], string>> = {
  succeeded: 'sent',
  throttled: 'throttled',
  transient: 'not_sent',
  uncertain: 'uncertain',
  permanent: 'refused',
  erased: 'erased',
};

/**
 * Tells people. A chat has no idempotency key and no read-back, so a message that may have left is never sent again by itself: the
 * engine marks the row first and leaves it `uncertain`.
 */
export class NotifierTarget implements Target<LeadResolved> {
  readonly name = 'notifier';
  readonly concurrency = 16;
  readonly timeoutMs: number;
  readonly nativeIdempotency = false;

  constructor(private readonly options: NotifierTargetOptions) {
    this.timeoutMs = Math.min(maxTimeoutMs, Math.floor(options.leaseMs / 2));
  }

  plan(event: LeadResolved): PlannedDelivery | undefined {
    const telling = decideTelling(this.options.site, this.options.channels, event);
    if (!telling.tell) return undefined;
    const { channel, recipientKey, template } = telling;
    const destination = notificationName({ scope: 'lead', channel, recipientKey, template });
    return {
      eventId: event.event_id,
      destination,
      leadRef: event.lead_ref,
      submittedAt: event.submitted_at,
      deadlineAt: new Date(event.resolved_at.getTime() + usefulForMs),
      operations: [{ kind: 'message', operationKey: operationKey(event.event_id, destination, 'message') }],
      needsVault: false,
      test: event.test,
    };
  }

  async perform(_operation: PlannedOperation, context: PerformContext<LeadResolved>): Promise<Outcome> {
    const { event, trace } = context;
    const telling = decideTelling(this.options.site, this.options.channels, event);
    const channel = telling.tell ? this.options.channels.get(telling.channel) : undefined;
    if (!telling.tell || channel === undefined) return { kind: 'transient', code: 'no_channel', provablyNotExecuted: true };
    const outcome = await channel.send({ text: messageText(event, telling) }, { timeoutMs: context.timeoutMs, trace });
    if (!event.test) metrics.notifications.inc({ channel: channel.name, outcome: countedAs[outcome.kind] });
    return outcome;
  }

  /** Nobody downstream waits for the telling. */
  resolved(): [] {
    return [];
  }
}

/** Counts what became of a notification outside a call. @param destination the delivery's name */
export function countNotification(destination: string, outcome: string): void {
  metrics.notifications.inc({ channel: parseNotificationName(destination)?.channel ?? 'none', outcome });
}
