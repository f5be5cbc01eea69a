import { groups, LeadAcceptedEvent, topics } from '#contracts';
import type { Unclaimed } from '#delivery';
import { type AdminPort, type Codec, type ConsumedRecord, DecodeError } from '#messaging';
import type { Sql } from '#runtime';
import { mayBeFor } from '../destination-target.js';
import { claimedAmong } from './claimed-rows.js';
import { sumUnread } from './sum-unread.js';
import { type UnreadLead, UnreadPartition } from './unread-partition.js';

export type LogSource = Pick<AdminPort, 'groupOffsets' | 'offsetsOf' | 'readFrom'>;
export type Ends = Awaited<ReturnType<LogSource['offsetsOf']>>;

export interface UnreadTools {
  db: Sql;
  codec: Codec;
}

/** Leads of one destination that are kept in memory at most; a few megabytes. What is beyond is counted by its offsets. */
const maxKept = 50_000;
/** Leads that are asked for in one statement: more than a process keeps in hand. */
const checkedAtOnce = 2_000;
const topic = topics.leadAccepted;

/** What lies on the topic for one destination behind its group's committed offsets. Looks at each record once. */
export class UnreadOf {
  readonly #partitions = new Map<number, UnreadPartition>();
  /** Where in each partition's leads the next look behind the first stretch begins. */
  readonly #turns = new Map<number, number>();
  #positioned = false;

  constructor(
    readonly destination: string,
    private readonly tools: UnreadTools,
  ) {}

  /** Offsets that were not looked at. */
  get unseen(): number {
    return [...this.#partitions.values()].reduce((sum, { unseen }) => sum + unseen, 0);
  }

  /** Takes in how far the group is. Called before the ends are read, so that a group that keeps up never looks ahead of the log. */
  async positions(source: LogSource): Promise<Map<number, bigint | undefined>> {
    const offsets = await source.groupOffsets(groups.crmWriter(this.destination), [topic]);
    return new Map(offsets.map(({ partition, offset }) => [partition, offset]));
  }

  move(committed: ReadonlyMap<number, bigint | undefined>, ends: Ends): void {
    this.#positioned = ends.length > 0;
    for (const { partition, low, high } of ends) {
      const position = committed.get(partition);
      if (position === undefined && low < high) this.#positioned = false;
      const known = this.#partitions.get(partition) ?? new UnreadPartition();
      known.move({ committed: position ?? low, low, high });
      this.#partitions.set(partition, known);
    }
  }

  /** Looks at records that nobody looked at, until there is none, the memory is full or the time is over. */
  async look(source: LogSource, untilMs: number): Promise<void> {
    if (!this.#positioned) return;
    for (const [partition, unread] of this.#partitions) {
      while (unread.unseen > 0 && this.#kept < maxKept && performance.now() < untilMs) {
        const slice = await source.readFrom({ topic, partition, offset: unread.next });
        // Retention took it just now: the next look begins where the log does.
        if (slice === undefined) break;
        unread.saw(await this.leadsAmong(slice.records), slice.next);
      }
    }
  }

  /** Forgets what has been claimed: by position first, then by row, since a commit waits for whatever is not settled before it. */
  async sum(): Promise<Unclaimed> {
    if (!this.#positioned) return { unknown: 'no_position' };
    await Promise.all([...this.#partitions].map(([partition, unread]) => this.forgetClaimed(partition, unread)));
    return sumUnread([...this.#partitions.values()]);
  }

  get #kept(): number {
    return [...this.#partitions.values()].reduce((sum, { leads }) => sum + leads.length, 0);
  }

  /**
   * Claims go in the order of the log, so that behind a stretch without any there is none, but for leads that were taken up past their deadline:
   * for their sake one more stretch is asked for at each look, in turn.
   */
  private async forgetClaimed(partition: number, unread: UnreadPartition): Promise<void> {
    let from = 0;
    for (let claimed = 1; claimed > 0 && from < unread.leads.length; ) {
      claimed = await this.forgetStretch(unread, from);
      from = Math.min(unread.leads.length, from + checkedAtOnce - claimed);
    }
    const turn = Math.max(from, this.#turns.get(partition) ?? 0);
    const begin = turn < unread.leads.length ? turn : from;
    this.#turns.set(partition, begin + checkedAtOnce);
    if (begin < unread.leads.length) await this.forgetStretch(unread, begin);
  }

  /** Gives how many were claimed. */
  private async forgetStretch(unread: UnreadPartition, from: number): Promise<number> {
    const eventIds = unread.leads.slice(from, from + checkedAtOnce).map(({ eventId }) => eventId);
    const claimed = await claimedAmong(this.tools.db, this.destination, eventIds);
    return claimed.size === 0 ? 0 : unread.forget({ from, to: from + eventIds.length }, claimed);
  }

  private async leadsAmong(records: readonly ConsumedRecord[]): Promise<UnreadLead[]> {
    const mine = records.filter((record) => mayBeFor(this.destination, record));
    const leads = await Promise.all(mine.map((record) => this.leadOf(record)));
    return leads.filter((lead) => lead !== undefined);
  }

  /** What is no event is no lead: it becomes a dead letter, and the engine skips what is for others. */
  private async leadOf({ offset, value }: ConsumedRecord): Promise<UnreadLead | undefined> {
    try {
      const { event_id: eventId, submitted_at: submitted, test, destinations } = await this.tools.codec.decode(LeadAcceptedEvent, value);
      if (!destinations.includes(this.destination)) return undefined;
      return { offset, eventId, submittedAtMs: submitted.getTime(), test };
    } catch (error) {
      if (error instanceof DecodeError) return undefined;
      throw error;
    }
  }
}
