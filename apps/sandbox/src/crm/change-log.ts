import type { CrmRecord } from './crm-record.js';

interface Entry {
  sequence: number;
  atMs: number;
  record: CrmRecord;
}

/** Records in the order of their last change. An entry that a later change of its record outdated stays until half of them are such. */
export class ChangeLog {
  private entries: Entry[] = [];
  private outdated = 0;
  private sequence = 0;
  private lastMs = 0;

  /** Puts the record at the end; its time never goes back, whatever the machine's clock does. */
  add(record: CrmRecord): void {
    if (record.sequence > 0) this.outdated += 1;
    this.sequence += 1;
    this.lastMs = Math.max(this.lastMs, Date.now());
    record.sequence = this.sequence;
    record.changedMs = this.lastMs;
    this.entries.push({ sequence: this.sequence, atMs: this.lastMs, record });
    this.tidy();
  }

  remove(record: CrmRecord): void {
    record.sequence = -1;
    this.outdated += 1;
    this.tidy();
  }

  /** Records whose last change was at `fromMs` or later, after the given place, oldest first. */
  *since(fromMs: number, after = 0): Generator<CrmRecord> {
    const { entries } = this;
    for (
      let at = Math.max(
        this.firstAt((entry) => entry.atMs >= fromMs),
        this.firstAt((entry) => entry.sequence > after),
      );
      at < entries.length;
      at += 1
    ) {
      const entry = entries[at];
      if (entry !== undefined && entry.record.sequence === entry.sequence) yield entry.record;
    }
  }

  private firstAt(holds: (entry: Entry) => boolean): number {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const entry = this.entries[middle];
      if (entry !== undefined && holds(entry)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  private tidy(): void {
    if (this.outdated < 1_000 || this.outdated * 2 < this.entries.length) return;
    this.entries = this.entries.filter(({ record, sequence }) => record.sequence === sequence);
    this.outdated = 0;
  }
}
