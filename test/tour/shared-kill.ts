/** One kill for several rows: it happens when each of them is ready for it, or has failed before. */
export class SharedKill {
  private readonly awaited: Set<string>;
  private readonly done: Promise<void>;
  private go: () => void = () => undefined;

  constructor(rows: readonly string[], kill: () => Promise<void>) {
    this.awaited = new Set(rows);
    this.done = new Promise<void>((resolve) => {
      this.go = resolve;
    }).then(kill);
    // Reported to the rows that wait for it.
    this.done.catch(() => undefined);
  }

  /** The row is ready; resolves once the kill has happened. */
  ready(row: string): Promise<void> {
    this.without(row);
    return this.done;
  }

  /** The row will not come to it. */
  without(row: string): void {
    this.awaited.delete(row);
    if (this.awaited.size === 0) this.go();
  }
}
