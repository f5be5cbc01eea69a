import { headers } from '#contracts';
import type { FetchedBatch, TopicPartitionOffset } from '../kafka/ports.js';
import { notBeforeMs } from '../tiers/not-before.js';
import { Flow } from './flow.js';
import { Outlet } from './outlet.js';
import type { HeldRecord, PartitionWindow, WindowOwner } from './partition-window.js';
import type { Receipt } from './record.js';
import { WindowSet } from './window-set.js';

export interface Limits {
  /** Handed out and not settled; main topics and retry tiers apart. */
  unsettled: number;
  /** Per partition, from the first unsettled record on: what would be read again after a crash. */
  uncommitted: number;
  /** Of the tiers, waiting for their time. */
  held: number;
}

export interface GenerationOptions {
  assignment: Readonly<Record<string, readonly number[]>>;
  tierTopics: ReadonlySet<string>;
  limits: Limits;
  /** Neither fetched nor handed out. */
  isPaused(topic: string, partition: number): boolean;
  /** By decision: what waits there is not expected to move. */
  isDeliberate(topic: string, partition: number): boolean;
  setFetching(topic: string, partition: number, on: boolean): void;
  onReceipts(receipts: Receipt[]): void;
  /** Something was settled or given back. */
  onMoved(): void;
  onThrow(error: unknown): void;
  onReleased(topic: string, lateMs: number): void;
  /** How long the application had a record; told of one in sixteen. */
  onTook(durationMs: number): void;
}

export interface DueCommit {
  offsets: TopicPartitionOffset[];
  commit: FetchedBatch['commit'];
  /** To be called once it is committed. */
  done(): void;
}

/**
 * One assignment of this member: the windows of its partitions and the records that wait for their time. Fetched records go to the
 * application as room is made, without barriers between fetches. All of it ends with the assignment; rows absorb what is read again.
 */
export class Generation implements WindowOwner {
  private readonly windows: WindowSet;
  private readonly outlet: Outlet;
  private readonly flow: Flow;
  private commitFetched: FetchedBatch['commit'] | undefined;
  private tidyScheduled = false;
  private over = false;
  private closed = false;

  constructor(private readonly options: GenerationOptions) {
    const { assignment, limits, tierTopics } = options;
    const isPaused = ({ topic, partition }: PartitionWindow): boolean => options.isPaused(topic, partition);
    this.windows = new WindowSet(this, tierTopics);
    this.outlet = new Outlet(this.windows, { ...options, isPaused, maxUnsettled: limits.unsettled });
    this.flow = new Flow(this.windows, {
      isPaused,
      maxUnsettled: limits.unsettled,
      maxUncommitted: limits.uncommitted,
      maxHeld: limits.held,
      heldOfTiers: () => this.outlet.heldOfTiers,
      setFetching: options.setFetching,
    });
    for (const [topic, partitions] of Object.entries(assignment)) for (const partition of partitions) this.windows.add(topic, partition);
    this.flow.steer();
  }

  /** Records with the application. */
  get unsettled(): number {
    return this.windows.out('main') + this.windows.out('tier');
  }

  /** Records that should move: with the application, or fetched and not waiting for their time; not where a pause is a decision. */
  get movable(): number {
    return this.expected.reduce((sum, { out, backlog }) => sum + out + backlog, 0);
  }

  /** Next fetch position of the partitions that should move; undefined before the first fetch. */
  positions(): { topic: string; partition: number; next: number | undefined }[] {
    return this.expected.map(({ topic, partition, watermark }) => ({ topic, partition, next: watermark.next }));
  }

  private get expected(): readonly PartitionWindow[] {
    return this.windows.all.filter(({ topic, partition }) => !this.options.isDeliberate(topic, partition));
  }

  /** Takes a fetch in and resolves when the next one may come. @throws when the group rebalances meanwhile. */
  async take(batch: FetchedBatch): Promise<void> {
    const window = this.windows.get(batch.topic, batch.partition);
    if (window === undefined || this.over || this.closed) return;
    this.commitFetched = batch.commit;
    window.accept(batch.records, batch.nextOffset, window.lane === 'tier' ? (entry) => this.holdBack({ window, ...entry }) : undefined);
    this.outlet.pump();
    this.flow.steer();
    await this.flow.room(window.lane, batch.heartbeat);
  }

  /** The log does not hold the fetch position any more. A log that begins again voids what was fetched of the one before. */
  reset(topic: string, partition: number, to: number): void {
    const window = this.windows.get(topic, partition);
    if (window === undefined || this.over) return;
    if (to < (window.watermark.next ?? 0)) {
      this.windows.add(topic, partition).watermark.moveTo(to);
    } else {
      window.watermark.moveTo(to);
      window.committed = undefined;
    }
    this.tidySoon();
  }

  /** What the committed offsets lag behind. */
  dueCommit(): DueCommit | undefined {
    const commit = this.commitFetched;
    if (this.over || commit === undefined) return undefined;
    const ahead: { window: PartitionWindow; to: number }[] = [];
    for (const window of this.windows.all) {
      const to = window.watermark.committable;
      if (to !== undefined && to !== window.committed) ahead.push({ window, to });
    }
    if (ahead.length === 0) return undefined;
    const offsets = ahead.map(({ window: { topic, partition }, to }) => ({ topic, partition, offset: BigInt(to) }));
    const done = (): void => {
      for (const { window, to } of ahead) window.committed = to;
    };
    return { offsets, commit, done };
  }

  /** A pause began or ended: steers fetching and hands out what may go. */
  pausesChanged(): void {
    if (this.over) return;
    this.outlet.resume();
    this.flow.steer();
  }

  /** Fetches and hands out nothing more; what is out may still settle. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.outlet.close();
    this.flow.close();
    if (this.over) return;
    for (const { topic, partition } of this.windows.all) this.options.setFetching(topic, partition, false);
  }

  end(): void {
    this.over = true;
    this.close();
    this.windows.end();
  }

  settled(): void {
    if (!this.tidyScheduled) this.tidySoon();
  }

  took(durationMs: number): void {
    this.options.onTook(durationMs);
  }

  redeliver(held: HeldRecord, delayMs: number): void {
    this.outlet.hold(Date.now() + Math.max(0, Math.ceil(delayMs)), held);
    this.settled();
  }

  /** Many settles in one turn of the event loop are answered once. */
  private tidySoon(): void {
    this.tidyScheduled = true;
    queueMicrotask(() => {
      this.tidyScheduled = false;
      if (this.over) return;
      this.flow.moved();
      this.outlet.pump();
      this.flow.steer();
      this.options.onMoved();
    });
  }

  private holdBack(item: HeldRecord): boolean {
    const due = notBeforeMs(item.record.headers[headers.notBefore], Date.now());
    if (due === undefined) return false;
    this.outlet.hold(due, item);
    return true;
  }
}
