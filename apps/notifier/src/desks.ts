import type { LeadResolved } from '#contracts';
import type { Received } from '#messaging';
import type { Site } from '#runtime';
import type { ChannelDesk } from './channel-desk.js';
import type { OpenChannel } from './open-channels.js';
import { decideTelling } from './telling/decide-telling.js';

export interface DesksOptions {
  site: Pick<Site, 'routing' | 'owners'>;
  channels: ReadonlyMap<string, OpenChannel>;
  /** By channel; at least one. */
  desks: ReadonlyMap<string, ChannelDesk>;
}

/** Gives each resolved lead to the desk of the channel that tells of it. */
export class Desks {
  constructor(private readonly options: DesksOptions) {}

  take(received: readonly Received<LeadResolved>[]): void {
    const shares = new Map<ChannelDesk, Received<LeadResolved>[]>();
    for (const one of received) {
      const desk = this.deskOf(one);
      if (desk === undefined) one.receipt.settle();
      else shares.set(desk, [...(shares.get(desk) ?? []), one]);
    }
    for (const [desk, share] of shares) desk.take(share);
  }

  /** Undefined: nobody is told. What cannot be read becomes a dead letter at any desk. */
  private deskOf({ result }: Received<LeadResolved>): ChannelDesk | undefined {
    const { site, channels, desks } = this.options;
    if (!result.ok) return desks.values().next().value;
    const decided = decideTelling(site, channels, result.event);
    return decided.tell ? desks.get(decided.channel) : undefined;
  }
}
