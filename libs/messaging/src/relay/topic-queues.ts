import { partitionOf } from './murmur2.js';
import { PartitionQueue } from './partition-queue.js';
import type { QueuedRow } from './queued-row.js';

const firstBackOffMs = 250;
const longestBackOffMs = 5_000;
/** How long a partition count is believed. More partitions than known only means that the new ones stay unused for a while. */
const countValidMs = 300_000;

/**
 * The queues of one topic, and whether it takes records.
 * - `open`: rows come in and go out.
 * - `stopped`: after a failure that is no single record's fault. Waiting rows were let go, so that this topic cannot fill the memory that others
 *   need; only what failed is kept and tried again after a growing pause.
 * - `reopening`: that try got through. Rows let go must be read again before newer ones may come in, so nothing is taken until `open`.
 */
export class TopicQueues {
  state: 'open' | 'stopped' | 'reopening' = 'open';
  /** A stop was made known, and no request has got through since: the number of partitions alone proves nothing. */
  alarmed = false;
  /** Set while the number of partitions is being asked for. */
  asking = false;
  private queues: PartitionQueue[] = [];
  private unrouted: QueuedRow[] = [];
  private routedAtMs = Number.NEGATIVE_INFINITY;
  private failures = 0;
  private retryAtMs = 0;
  private nextWithoutKey = 0;

  constructor(readonly topic: string) {}

  get isRouted(): boolean {
    return this.queues.length > 0;
  }

  get isIdle(): boolean {
    return this.unrouted.length === 0 && this.queues.every((queue) => !queue.isOut && queue.length === 0);
  }

  get hasRequestOut(): boolean {
    return this.queues.some((queue) => queue.isOut);
  }

  isPausing(nowMs: number): boolean {
    return this.state === 'stopped' && nowMs < this.retryAtMs;
  }

  needsCount(nowMs: number): boolean {
    return !this.asking && (this.isRouted ? nowMs - this.routedAtMs > countValidMs : true);
  }

  ready(): PartitionQueue[] {
    return this.queues.filter((queue) => queue.ready);
  }

  add(row: QueuedRow): void {
    if (!this.isRouted) {
      this.unrouted.push(row);
      return;
    }
    const partition = row.key === null ? this.nextWithoutKey++ % this.queues.length : partitionOf(row.key, this.queues.length);
    this.queues[partition]?.add(row);
  }

  /** The topic's number of partitions is known (again). */
  route(partitions: number, nowMs: number): void {
    this.routedAtMs = nowMs;
    while (this.queues.length < partitions) this.queues.push(new PartitionQueue(this.topic, this.queues.length));
    for (const row of this.unrouted.splice(0)) this.add(row);
  }

  /** Full jitter would let a try follow at once; half of it keeps relays apart and tries rare. Gives the pause. */
  stop(nowMs: number): number {
    this.state = 'stopped';
    const pauseMs = Math.min(longestBackOffMs, firstBackOffMs * 2 ** this.failures) * (0.5 + Math.random() / 2);
    this.failures += 1;
    this.retryAtMs = nowMs + pauseMs;
    return pauseMs;
  }

  /** A request got through. */
  passed(): void {
    this.failures = 0;
    if (this.state === 'stopped') this.state = 'reopening';
  }

  drop(matches: (row: QueuedRow) => boolean): QueuedRow[] {
    const unrouted = this.unrouted.filter(matches);
    this.unrouted = this.unrouted.filter((row) => !matches(row));
    return [...unrouted, ...this.queues.flatMap((queue) => queue.drop(matches))];
  }
}
