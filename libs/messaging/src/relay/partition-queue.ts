import type { QueuedRow } from './queued-row.js';

/** Largest request per partition. Below the broker's default limit of 1 MB with room for what the estimate misses. */
const maxBatchBytes = 512 * 1024;
/** Batches that must pass before a halved limit is doubled again. */
const steadyAfter = 16;

/** Rows of one partition in order. At most one batch is out at a time, so nothing can overtake. */
export class PartitionQueue {
  private rows: QueuedRow[] = [];
  private out: QueuedRow[] | undefined;
  private limit = Number.POSITIVE_INFINITY;
  private passedInRow = 0;
  /** Send it apart from others: the last request that had this queue in it failed, and the next one must say whose fault it is. */
  alone = false;

  constructor(
    readonly topic: string,
    readonly partition: number,
  ) {}

  get ready(): boolean {
    return this.out === undefined && this.rows.length > 0;
  }

  get isOut(): boolean {
    return this.out !== undefined;
  }

  get length(): number {
    return this.rows.length;
  }

  add(row: QueuedRow): void {
    this.rows.push(row);
  }

  /** The next batch, which is out until `passed`, `failed` or `refused`. */
  take(): QueuedRow[] {
    let bytes = 0;
    let count = 0;
    for (const row of this.rows) {
      bytes += row.bytes;
      if (count > 0 && (bytes > maxBatchBytes || count >= this.limit)) break;
      count += 1;
    }
    this.out = this.rows.splice(0, count);
    return this.out;
  }

  passed(): void {
    this.out = undefined;
    this.alone = false;
    this.passedInRow += 1;
    if (this.passedInRow < steadyAfter || this.limit === Number.POSITIVE_INFINITY) return;
    this.passedInRow = 0;
    this.limit = this.limit > 1_000 ? Number.POSITIVE_INFINITY : this.limit * 2;
  }

  /** The batch comes again, first in line and alone. Gives its rows. */
  failed(): QueuedRow[] {
    const batch = this.out ?? [];
    this.rows.unshift(...batch);
    this.out = undefined;
    this.alone = true;
    return batch;
  }

  /** A record of the batch is at fault: half of it comes next. A batch of one is the culprit, and is given back instead. */
  refused(): QueuedRow | undefined {
    const batch = this.out ?? [];
    this.passedInRow = 0;
    if (batch.length > 1) {
      this.limit = batch.length >> 1;
      this.failed();
      return undefined;
    }
    this.limit = Number.POSITIVE_INFINITY;
    this.out = undefined;
    return batch[0];
  }

  /** Takes out the waiting rows that match; what is out stays out. */
  drop(matches: (row: QueuedRow) => boolean): QueuedRow[] {
    const dropped = this.rows.filter(matches);
    if (dropped.length > 0) this.rows = this.rows.filter((row) => !matches(row));
    return dropped;
  }
}
