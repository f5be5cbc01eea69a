import type { LeadResolved } from '#contracts';
import type { Received } from '#messaging';
import { type Logger, type Site, StatementFailed } from '#runtime';
import type { ChannelDesk } from './channel-desk.js';
import type { OpenChannel } from './open-channels.js';
import type { OwnerlessLeads } from './ownerless/ownerless-leads.js';
import { decideTelling } from './telling/decide-telling.js';
import type { OutdatedTellings } from './telling/outdated.js';

export interface DesksOptions {
  site: Pick<Site, 'routing' | 'owners'>;
  channels: ReadonlyMap<string, OpenChannel>;
  /** By channel; at least one. */
  desks: ReadonlyMap<string, ChannelDesk>;
  ownerless: Pick<OwnerlessLeads, 'isOne' | 'note'>;
  outdated: Pick<OutdatedTellings, 'mayBe' | 'end'>;
  logger: Logger;
}

/** Until records come again that were to be looked at while PostgreSQL was away. */
const againMs = 1_000;

/** Gives each resolved lead to the desk of the channel that tells of it. */
export class Desks {
  constructor(private readonly options: DesksOptions) {}

  take(received: readonly Received<LeadResolved>[]): void {
    const first = new Set(received.filter((one) => this.needsLook(one)));
    this.share(first.size === 0 ? received : received.filter((one) => !first.has(one)));
    if (first.size > 0) void this.look([...first]);
  }

  /** Few do: a lead that belongs to nobody, and one that failed. */
  private needsLook(one: Received<LeadResolved>): boolean {
    const { ownerless, outdated } = this.options;
    return one.result.ok && (ownerless.isOne(one.result.event) || outdated.mayBe(one));
  }

  /** Has the owner found, and leaves untold what is no news any more. Never rejects. */
  private async look(received: readonly Received<LeadResolved>[]): Promise<void> {
    const { ownerless, outdated, logger } = this.options;
    try {
      await ownerless.note(received);
      const over = await outdated.end(received);
      for (const { receipt } of over) receipt.settle();
      this.share(received.filter((one) => !over.has(one)));
    } catch (err) {
      if (!(err instanceof StatementFailed && err.isDataError)) {
        logger.warn({ err, count: received.length, retry_in_ms: againMs }, 'Leads cannot be looked at before they are told; they wait');
        for (const { receipt } of received) receipt.redeliverIn(againMs);
      } else if (received.length > 1) {
        for (const one of received) await this.look([one]);
      } else {
        logger.error(
          { err, event_id: received[0]?.result.ok ? received[0].result.event.event_id : undefined },
          'A lead is told unlooked at',
        );
        this.share(received);
      }
    }
  }

  private share(received: readonly Received<LeadResolved>[]): void {
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
