/** A timer of more than 24 days fires at once, again and again, so a far due time is reached in steps. */
const longestTimerMs = 3_600_000;

/** Items that come due, earliest first, behind one timer. Never early by `performance.now()`. */
export class DueTimes<T> {
  readonly #heap: { due: number; item: T }[] = [];
  readonly #onDue: (item: T) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(onDue: (item: T) => void) {
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#heap.length;
  }

  add(item: T, inMs: number): void {
    const entry = { due: performance.now() + inMs, item };
    let child = this.#heap.push(entry) - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if ((this.#heap[parent]?.due ?? 0) <= entry.due) break;
      this.#swap(child, parent);
      child = parent;
    }
    if (child === 0) this.#arm();
  }

  /** Forgets everything. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#heap.length = 0;
  }

  #arm(): void {
    clearTimeout(this.#timer);
    const first = this.#heap[0];
    if (first === undefined) return;
    // Timers cut fractions off and count from the loop's clock, so one more millisecond keeps them from firing early.
    this.#timer = setTimeout(() => this.#fire(), Math.min(Math.max(first.due - performance.now(), 0) + 1, longestTimerMs));
    this.#timer.unref();
  }

  #fire(): void {
    for (let first = this.#heap[0]; first !== undefined && first.due <= performance.now(); first = this.#heap[0]) {
      this.#takeFirst();
      this.#onDue(first.item);
    }
    this.#arm();
  }

  #takeFirst(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    for (let parent = 0; ; ) {
      const child = this.#earlierChild(parent);
      if (child === undefined || (this.#heap[child]?.due ?? 0) >= last.due) return;
      this.#swap(parent, child);
      parent = child;
    }
  }

  #earlierChild(parent: number): number | undefined {
    const left = this.#heap[2 * parent + 1];
    const right = this.#heap[2 * parent + 2];
    if (left === undefined) return undefined;
    return right !== undefined && right.due < left.due ? 2 * parent + 2 : 2 * parent + 1;
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    if (one === undefined || other === undefined) return;
    this.#heap[a] = other;
    this.#heap[b] = one;
  }
}
