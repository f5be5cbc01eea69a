import { HeldRecords, type Verdict } from '../tiers/held-records.js';
import type { HeldRecord, PartitionWindow } from './partition-window.js';
import type { Receipt } from './record.js';
import type { WindowSet } from './window-set.js';

export interface OutletOptions {
  /** Records with the application at once, per lane. */
  maxUnsettled: number;
  isPaused(window: PartitionWindow): boolean;
  onReceipts(receipts: Receipt[]): void;
  onThrow(error: unknown): void;
  /** A held record was handed on so long after its time. */
  onReleased(topic: string, lateMs: number): void;
}

/** Taken from one partition before the next has its turn. */
const quantum = 500;

/** Hands records to the application as there is room: from the backlogs, each partition in turn, and held ones at their time. */
export class Outlet {
  private readonly held: HeldRecords<HeldRecord>;
  private ofTiers = 0;
  private turn = 0;
  private pumping = false;
  private closed = false;

  constructor(
    private readonly windows: WindowSet,
    private readonly options: OutletOptions,
  ) {
    this.held = new HeldRecords<HeldRecord>({
      verdict: (item, chosen) => this.verdict(item, chosen),
      release: (due) => this.release(due),
    });
  }

  /** Of the tiers. What main topics' records were given back for is bounded by what may be uncommitted. */
  get heldOfTiers(): number {
    return this.ofTiers;
  }

  hold(dueMs: number, item: HeldRecord): void {
    if (item.window.lane === 'tier') this.ofTiers += 1;
    this.held.add(dueMs, item);
  }

  /** Hands out all that has room now. A handler may settle at once, which makes room for more. */
  pump(): void {
    if (this.pumping || this.closed) return;
    this.pumping = true;
    if (this.held.size > 0) this.held.wake();
    const { all } = this.windows;
    for (let idle = 0; idle < all.length && !this.closed; this.turn += 1) {
      const window = all[this.turn % all.length];
      idle = window !== undefined && this.handFrom(window) ? 0 : idle + 1;
    }
    this.pumping = false;
  }

  /** A pause ended. */
  resume(): void {
    this.held.resume();
    this.pump();
  }

  close(): void {
    this.closed = true;
    this.held.end();
  }

  private handFrom(window: PartitionWindow): boolean {
    if (window.backlog === 0 || this.options.isPaused(window)) return false;
    const room = this.options.maxUnsettled - this.windows.out(window.lane);
    if (room <= 0) return false;
    this.hand(window.take(Math.min(room, quantum)));
    return true;
  }

  private verdict({ window }: HeldRecord, chosen: number): Verdict {
    if (this.options.isPaused(window)) return 'paused';
    // What was given back had its room before; only newcomers of the tiers wait for it.
    if (window.lane === 'main') return 'take';
    return this.windows.out('tier') + chosen < this.options.maxUnsettled ? 'take' : 'full';
  }

  private release(due: { dueMs: number; item: HeldRecord }[]): void {
    const now = Date.now();
    const receipts: Receipt[] = [];
    for (const { dueMs, item } of due) {
      if (item.window.lane === 'tier') this.ofTiers -= 1;
      item.window.handedOutAtMs = now;
      const receipt = item.window.over ? undefined : item.window.handOut(item.ticket, item.record);
      if (receipt === undefined) continue;
      receipts.push(receipt);
      this.options.onReleased(item.window.topic, now - dueMs);
    }
    this.hand(receipts);
  }

  private hand(receipts: Receipt[]): void {
    if (receipts.length === 0) return;
    try {
      this.options.onReceipts(receipts);
    } catch (error) {
      this.closed = true;
      this.options.onThrow(error);
    }
  }
}
