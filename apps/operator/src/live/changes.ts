/** Somebody who wants to know that something is different now, by name, never what. */
export type OnChange = (what: readonly string[]) => void;

/** Changes within this time are told together. */
const gatherMs = 200;

/** Passes on what has changed to everybody who listens. */
export class Changes {
  private readonly listeners = new Set<OnChange>();
  private readonly waiting = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  get listened(): boolean {
    return this.listeners.size > 0;
  }

  /** Gives the function that ends it. */
  listen(onChange: OnChange): () => void {
    this.listeners.add(onChange);
    return () => void this.listeners.delete(onChange);
  }

  tell(what: string): void {
    if (!this.listened) return;
    this.waiting.add(what);
    this.timer ??= setTimeout(() => this.flush(), gatherMs);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.listeners.clear();
  }

  private flush(): void {
    this.timer = undefined;
    const what = [...this.waiting].toSorted();
    this.waiting.clear();
    for (const onChange of this.listeners) onChange(what);
  }
}
