import type { FetchedRecord } from '../kafka/ports.js';
import { KafkaRecord } from './kafka-record.js';
import type { Receipt } from './record.js';
import { Watermark } from './watermark.js';

/** Why fetching of a partition stands still for a moment; none of these is anyone's decision. */
export type FlowStop = 'window' | 'uncommitted' | 'held';

/** Main topics and retry tiers have room of their own, so that a backlog in one never delays the other. */
export type Lane = 'main' | 'tier';

export interface Place {
  topic: string;
  partition: number;
  lane: Lane;
}

interface Fetched {
  ticket: number;
  record: KafkaRecord;
}

/** A record that waits for its time. */
export interface HeldRecord extends Fetched {
  window: PartitionWindow;
}

export interface WindowOwner {
  settled(): void;
  /** How long the application had a record; told of some. */
  took(durationMs: number): void;
  redeliver(held: HeldRecord, delayMs: number): void;
}

/** Timing every record would cost as much as handing it out. */
const timedOneIn = 16;

/** One partition in one assignment: its watermark, what is fetched and not yet handed out, and why its fetching stands still. */
export class PartitionWindow {
  readonly watermark = new Watermark();
  readonly flow = new Set<FlowStop>();
  /** What the client was last told; undefined right after an assignment. */
  fetchPaused: boolean | undefined;
  /** Offset last committed, or where the first fetch began. */
  committed: number | undefined;
  /** Records with the application. */
  out = 0;
  over = false;
  /** Set before records are handed out: the clock is read once for many. */
  handedOutAtMs = 0;
  private queue: Fetched[] = [];
  private first = 0;

  readonly topic: string;
  readonly partition: number;
  readonly lane: Lane;

  constructor(
    { topic, partition, lane }: Place,
    private readonly owner: WindowOwner,
  ) {
    this.topic = topic;
    this.partition = partition;
    this.lane = lane;
  }

  get backlog(): number {
    return this.queue.length - this.first;
  }

  /** Takes in fetched records. What is not for the backlog is given to `aside`. */
  accept(records: readonly FetchedRecord[], nextOffset: number, aside?: (fetched: Fetched) => boolean): void {
    const { topic, partition, watermark } = this;
    if (this.committed === undefined && records[0] !== undefined) this.committed = Number(records[0].offset);
    for (const fetched of records) {
      const entry = { ticket: watermark.append(Number(fetched.offset)), record: new KafkaRecord(topic, partition, fetched) };
      if (aside?.(entry) !== true) this.queue.push(entry);
    }
    watermark.moveTo(nextOffset);
  }

  /** Removes up to `count` records from the backlog, as receipts. */
  take(count: number): Receipt[] {
    const end = Math.min(this.first + count, this.queue.length);
    const receipts: Receipt[] = [];
    this.handedOutAtMs = Date.now();
    for (let at = this.first; at < end; at += 1) {
      const entry = this.queue[at];
      const receipt = entry && this.handOut(entry.ticket, entry.record);
      if (receipt !== undefined) receipts.push(receipt);
    }
    this.first = end;
    if (this.first === this.queue.length) {
      this.queue = [];
      this.first = 0;
    }
    return receipts;
  }

  /** A receipt for the record, unless it was settled in the meantime. */
  handOut(ticket: number, record: KafkaRecord): Receipt | undefined {
    if (!this.watermark.handOut(ticket)) return undefined;
    this.out += 1;
    return new WindowReceipt(record, this, ticket);
  }

  settle(ticket: number, handedOutAtMs: number): void {
    if (this.over) return;
    if (ticket % timedOneIn === 0) this.owner.took(Date.now() - handedOutAtMs);
    const result = this.watermark.settle(ticket);
    if (result === 'settled') this.out -= 1;
    if (result !== 'before') this.owner.settled();
  }

  redeliver(ticket: number, record: KafkaRecord, delayMs: number): void {
    if (this.over || !this.watermark.takeBack(ticket)) return;
    this.out -= 1;
    this.owner.redeliver({ window: this, ticket, record }, delayMs);
  }

  /** The assignment is over: nothing of it counts any more. */
  end(): void {
    this.over = true;
    this.out = 0;
    this.queue = [];
    this.first = 0;
  }
}

class WindowReceipt implements Receipt {
  private readonly handedOutAtMs: number;

  constructor(
    readonly record: KafkaRecord,
    private readonly window: PartitionWindow,
    private readonly ticket: number,
  ) {
    this.handedOutAtMs = window.handedOutAtMs;
  }

  get stale(): boolean {
    return this.window.over;
  }

  settle(): void {
    this.window.settle(this.ticket, this.handedOutAtMs);
  }

  redeliverIn(delayMs: number): void {
    this.window.redeliver(this.ticket, this.record, delayMs);
  }
}
