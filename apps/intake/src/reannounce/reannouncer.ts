import { setTimeout as delay } from 'node:timers/promises';
import { heldDestinations } from '#delivery';
import { BrokersUnavailable, RegistryUnavailable } from '#messaging';
import { DatabaseUnavailable, type InternalClient, InternalUnavailable } from '#runtime';
import type { OwnerAnswer } from '../journey/live-states.js';
import type { NoOwnerTools } from './no-owner.js';
import { handOverOverdue } from './overdue.js';
import { allDestinations, noteBacklog, notePauses } from './pauses.js';
import { announceAgain, dueDestinations, findUnclaimed, markClaimed, type Unclaimed } from './unclaimed.js';

interface ReannouncerOptions extends NoOwnerTools {
  /** The owner of deliveries (crm-writer). */
  owner: InternalClient;
  /** Since when the group of each destination has records to read; those that have read everything are left out. */
  unreadSince(destinations: readonly string[]): Promise<ReadonlyMap<string, Date>>;
  relayWake: () => void;
  everyMs: number;
  /** The owner cannot be asked for this long: it counts as paused. Default 60,000. */
  awayAfterMs?: number;
}

/** Deliveries looked at in one go; one request to the owner. */
const maxItems = 500;

/**
 * No lead is lost because a topic lost its record: a delivery that stays unclaimed while its destination takes leads is asked for at its owner,
 * and announced again where the owner has never seen it; one past its deadline is handed to the owner. Where the owner does not answer, nothing
 * is done: it may well have it.
 */
export class Reannouncer {
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private awaySinceMs: number | undefined;

  constructor(private readonly options: ReannouncerOptions) {}

  start(): void {
    this.running = this.loop();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** One look at what is due. Gives how many records were announced again. */
  async sweep(): Promise<number> {
    const { db, owner, logger } = this.options;
    await notePauses(db, await this.pausedDestinations());
    const expired = await handOverOverdue(this.options, owner);
    if (expired > 0) logger.warn({ count: expired }, 'Leads that nobody claimed before their deadline were handed to their owner');
    const announced = (await this.readBacklog()) ? await this.announceUnclaimed() : 0;
    if (announced > 0) logger.warn({ count: announced }, 'Leads that nobody claimed were announced again');
    return announced;
  }

  /** An owner that was away for long has a backlog of its own when it is back: the time that it is given begins then. */
  private async pausedDestinations(): Promise<ReadonlySet<string>> {
    const { db, owner, awayAfterMs = 60_000 } = this.options;
    try {
      const held = await heldDestinations(owner);
      this.awaySinceMs = undefined;
      return held;
    } catch (error) {
      if (!(error instanceof InternalUnavailable)) throw error;
      this.awaySinceMs ??= performance.now();
      if (performance.now() - this.awaySinceMs >= awayAfterMs) await notePauses(db, [allDestinations]);
      throw error;
    }
  }

  /** What a group has not read yet needs no second record. Whether there is anything to look after. */
  private async readBacklog(): Promise<boolean> {
    const { db, unreadSince } = this.options;
    const due = await dueDestinations(db);
    if (due.length === 0) return false;
    await noteBacklog(db, due, await unreadSince(due));
    return true;
  }

  private async announceUnclaimed(): Promise<number> {
    const { db, owner, relayWake } = this.options;
    for (let announced = 0; ; ) {
      const unclaimed = await findUnclaimed(db, maxItems);
      if (unclaimed.length === 0) return announced;
      const eventIds = [...new Set(unclaimed.map(({ eventId }) => eventId))];
      const answer = await owner.post<{ items: OwnerAnswer[] }>('/internal/v1/deliveries:state', {
        items: eventIds.map((event_id) => ({ event_id })),
      });
      const { claimed, missing } = split(unclaimed, answer.items);
      await markClaimed(db, claimed);
      announced += await announceAgain(db, missing);
      relayWake();
      if (unclaimed.length < maxItems) return announced;
    }
  }

  private async loop(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      await delay(this.options.everyMs, undefined, { signal: this.stopping.signal }).catch(() => undefined);
      if (this.stopping.signal.aborted) return;
      await this.sweep().catch((error: unknown) => this.explain(error));
    }
  }

  private explain(error: unknown): void {
    const expected = [DatabaseUnavailable, InternalUnavailable, BrokersUnavailable, RegistryUnavailable].some(
      (kind) => error instanceof kind,
    );
    if (expected) this.options.logger.debug({ err: error }, 'Unclaimed deliveries could not be looked at');
    else this.options.logger.error({ err: error }, 'Looking at unclaimed deliveries failed');
  }
}

function split(unclaimed: readonly Unclaimed[], items: readonly OwnerAnswer[]): { claimed: Unclaimed[]; missing: Unclaimed[] } {
  const owned = new Set(items.flatMap(({ event_id, deliveries }) => deliveries.map(({ destination }) => `${event_id} ${destination}`)));
  const isOwned = ({ eventId, destination }: Unclaimed): boolean => owned.has(`${eventId} ${destination}`);
  return { claimed: unclaimed.filter(isOwned), missing: unclaimed.filter((delivery) => !isOwned(delivery)) };
}
