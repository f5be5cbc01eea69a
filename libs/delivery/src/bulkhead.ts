/** At most `limit` holders at once; the rest wait in order. The limit may change at any time. */
export class Bulkhead {
  readonly #limit: () => number;
  #held = 0;
  readonly #waiting: (() => void)[] = [];
  #head = 0;

  constructor(limit: () => number) {
    this.#limit = limit;
  }

  get held(): number {
    return this.#held;
  }

  /** Resolves once a place is held; `leave` gives it back. */
  enter(): Promise<void> | undefined {
    if (this.#head === this.#waiting.length && this.#held < this.#limit()) {
      this.#held++;
      return undefined;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  leave(): void {
    this.#held--;
    this.refresh();
  }

  /** To be called when the limit has grown. */
  refresh(): void {
    while (this.#head < this.#waiting.length && this.#held < this.#limit()) {
      this.#held++;
      this.#waiting[this.#head++]?.();
    }
    if (this.#head === this.#waiting.length || this.#head >= 1_024) {
      this.#waiting.splice(0, this.#head);
      this.#head = 0;
    }
  }
}
