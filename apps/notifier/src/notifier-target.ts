import { type LeadResolved, notificationName, operationKey, parseNotificationName } from '#contracts';
import type { Backoff, Outcome, PerformContext, PlannedDelivery, PlannedOperation, Target } from '#delivery';
import type { OutboxRow } from '#messaging';
import { type Logger, metrics, type Site } from '#runtime';
import type { OpenChannel } from './open-channels.js';
import { decideTelling } from './telling/decide-telling.js';
import { messageText } from './telling/message-text.js';
import type { OutdatedTellings } from './telling/outdated.js';
import { telling } from './telling-limits.js';

export interface NotifierTargetOptions {
  site: Site;
  channels: ReadonlyMap<string, OpenChannel>;
  /** The channel that this target tells on. */
  channel: string;
  /** How long a claim holds, in milliseconds: a call has to end well before. */
  leaseMs: number;
  /** Between two calls of one notification. */
  backoff: Backoff;
  outdated: Pick<OutdatedTellings, 'isOne'>;
  logger: Logger;
}

/** The word of `leads_notifications_total` for each outcome of a call. */
const countedAs: Readonly<Record<Outcome['kind'], string>> = {
  succeeded: 'sent',
  duplicate: 'sent',
  throttled: 'throttled',
  transient: 'not_sent',
  uncertain: 'uncertain',
  auth: 'refused',
  permanent: 'refused',
  erased: 'erased',
};

/**
 * Tells people on one channel. A chat has no idempotency key and no read-back, so a message that may have left is never sent again by
 * itself: the engine marks the row first and leaves it `uncertain`.
 */
export class NotifierTarget implements Target<LeadResolved> {
  readonly name: string;
  readonly concurrency = telling.concurrency;
  readonly timeoutMs: number;
  readonly nativeIdempotency = false;
  readonly verification = telling.verification;
  readonly backoff: Backoff;

  constructor(private readonly options: NotifierTargetOptions) {
    this.name = options.channel;
    this.backoff = options.backoff;
    this.timeoutMs = telling.timeoutMs(options.leaseMs);
  }

  plan(event: LeadResolved): PlannedDelivery | undefined {
    const decided = decideTelling(this.options.site, this.options.channels, event);
    if (!decided.tell || decided.channel !== this.name) return undefined;
    const { channel, recipientKey, template } = decided;
    const destination = notificationName({ scope: 'lead', channel, recipientKey, template });
    return {
      eventId: event.event_id,
      destination,
      leadRef: event.lead_ref,
      submittedAt: event.submitted_at,
      deadlineAt: new Date(event.resolved_at.getTime() + telling.usefulForMs),
      operations: plannedOperations(event.event_id, destination),
      needsVault: false,
      test: event.test,
      attempts: telling.attempts,
    };
  }

  async perform(_operation: PlannedOperation, context: PerformContext<LeadResolved>): Promise<Outcome> {
    const { event, trace } = context;
    const decided = decideTelling(this.options.site, this.options.channels, event);
    const channel = decided.tell ? this.options.channels.get(decided.channel) : undefined;
    if (!decided.tell || channel === undefined) return keptBack('no_channel');
    const kept = await this.notNow(event);
    if (kept !== undefined) return kept;
    const outcome = await channel.send({ text: messageText(event, decided) }, { timeoutMs: context.timeoutMs, trace });
    if (!event.test) metrics.notifications.inc({ channel: channel.name, outcome: countedAs[outcome.kind] });
    return outcome;
  }

  /** Nobody downstream waits for the telling. */
  resolved(): OutboxRow[] {
    return [];
  }

  /** Undefined: it may be told. Nothing is sent of an outdated one; its record ends it when it comes again. */
  private async notNow(event: LeadResolved): Promise<Outcome | undefined> {
    try {
      if (!(await this.options.outdated.isOne(event))) return undefined;
      return keptBack('superseded');
    } catch (err) {
      this.options.logger.warn({ err, event_id: event.event_id }, 'A message waits: whether it is outdated cannot be asked');
      return keptBack('database');
    }
  }
}

/** No call was made: the chat is as it was, and the message comes again. */
const keptBack = (code: string): Outcome => ({ kind: 'transient', code, provablyNotExecuted: true, notCalled: true });

/** A notification is one message. */
export function plannedOperations(eventId: string, destination: string): PlannedOperation[] {
  return [{ kind: 'message', operationKey: operationKey(eventId, destination, 'message') }];
}

/** Counts what became of a notification outside a call. @param destination the delivery's name */
export function countNotification(destination: string, outcome: string): void {
  metrics.notifications.inc({ channel: parseNotificationName(destination)?.channel ?? 'none', outcome });
}
