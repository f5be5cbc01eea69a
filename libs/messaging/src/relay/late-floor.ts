import type { Beat } from './outbox-session.js';

/**
 * How far back rows can still appear. Ids are taken before their transaction commits, so a low id can become visible after higher ones were
 * read. An id that some row had when a beat was taken is settled once every transaction that had begun by the beat after that is over: then it
 * was committed and can be seen, or never will be. Dead rows below the floor need not be walked over again.
 */
export class LateFloor {
  /** No row with an id up to this appears any more that a look at the table since then has not seen. */
  floor = 0n;
  private mark: { upTo: bigint; xmax: bigint | undefined } | undefined;
  private next: bigint | undefined;

  /** @param highestRead highest id read before this beat */
  observe({ xmin, xmax }: Pick<Beat, 'xmin' | 'xmax'>, highestRead: bigint): void {
    this.next = undefined;
    if (this.mark === undefined) {
      this.mark = { upTo: highestRead, xmax: undefined };
    } else if (this.mark.xmax === undefined) {
      this.mark.xmax = xmax;
    } else if (xmin >= this.mark.xmax) {
      this.next = this.mark.upTo;
      this.mark = undefined;
    }
  }

  /** Everything after the floor was looked through, later than the last beat. */
  looked(): void {
    if (this.next !== undefined && this.next > this.floor) this.floor = this.next;
  }
}
