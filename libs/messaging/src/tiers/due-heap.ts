interface Entry<T> {
  dueMs: number;
  /** Order of arrival among equals. */
  turn: number;
  item: T;
}

/** What waits for its time, earliest first, equals in the order they came. */
export class DueHeap<T> {
  private readonly entries: Entry<T>[] = [];
  private turns = 0;

  get size(): number {
    return this.entries.length;
  }

  /** When the earliest is due; undefined when nothing waits. */
  get nextDueMs(): number | undefined {
    return this.entries[0]?.dueMs;
  }

  push(dueMs: number, item: T): void {
    const entry = { dueMs, turn: this.turns, item };
    this.turns += 1;
    let at = this.entries.length;
    this.entries.push(entry);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = this.entries[parent];
      if (above === undefined || !before(entry, above)) break;
      this.entries[at] = above;
      at = parent;
    }
    this.entries[at] = entry;
  }

  /** Removes and returns the earliest when it is due at nowMs. */
  popDue(nowMs: number): { dueMs: number; item: T } | undefined {
    const first = this.entries[0];
    if (first === undefined || first.dueMs > nowMs) return undefined;
    const last = this.entries.pop();
    if (last !== undefined && last !== first) this.sink(last);
    return first;
  }

  private sink(entry: Entry<T>): void {
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      const [l, r] = [this.entries[left], this.entries[right]];
      if (l === undefined) break;
      const [child, where] = r !== undefined && before(r, l) ? [r, right] : [l, left];
      if (!before(child, entry)) break;
      this.entries[at] = child;
      at = where;
    }
    this.entries[at] = entry;
  }
}

function before<T>(a: Entry<T>, b: Entry<T>): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.turn < b.turn);
}
