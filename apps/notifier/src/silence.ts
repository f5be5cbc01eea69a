import type { LeadResolved } from '#contracts';
import type { Received } from '#messaging';
import { type Logger, metrics, type Site } from '#runtime';
import type { OpenChannel } from './open-channels.js';
import { decideTelling, type SilenceReason } from './telling/decide-telling.js';
import { logNotTold } from './telling/not-told.js';

export interface SilenceOptions {
  site: Site;
  channels: ReadonlyMap<string, OpenChannel>;
  logger: Logger;
}

/** The word of `leads_notifications_total` for a lead that nobody is told about. */
const countedAs: Readonly<Record<Exclude<SilenceReason, 'secondary'>, string>> = {
  outcome: 'not_needed',
  no_channel: 'no_channel',
  test_lead: 'test_lead',
};

/** Says of which resolved leads nobody is told, and why: a silence that was meant must not look like one that was not. */
export class Silence {
  constructor(private readonly options: SilenceOptions) {}

  note(received: readonly Received<LeadResolved>[]): void {
    for (const { result, trace } of received) {
      if (result.ok) this.noteOne(result.event, trace?.traceId);
    }
  }

  private noteOne(event: LeadResolved, traceId: string | undefined): void {
    const { site, channels, logger } = this.options;
    const telling = decideTelling(site, channels, event);
    if (telling.tell || telling.reason === 'secondary') return;
    const { reason, channel } = telling;
    if (!event.test || reason === 'test_lead') metrics.notifications.inc({ channel: channel ?? 'none', outcome: countedAs[reason] });
    logNotTold(logger, event, { destination: event.destination, channel, reason, traceId });
  }
}
