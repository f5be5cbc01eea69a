interface Turn {
  row: string;
  lastsMs: number;
  resolve(): void;
}

/**
 * One kill for several rows: it happens when each of them is ready for it, or has failed before. A row whose fault lasts only seconds begins it once
 * all that take longer are ready; those rows one after the other, the shortest fault last, so that none has to outlast another's beginning.
 */
export class SharedKill {
  private readonly awaited: Set<string>;
  private turns: Turn[] = [];
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

  /** Resolves when only rows that wait here as well, with faults that last no longer (`lastsMs`), are not ready yet. */
  turn(row: string, lastsMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.turns = [...this.turns, { row, lastsMs, resolve }].sort((a, b) => b.lastsMs - a.lastsMs);
      this.look();
    });
  }

  /** The row is ready; resolves once the kill has happened. */
  ready(row: string): Promise<void> {
    this.without(row);
    return this.done;
  }

  /** The row will not come to it. */
  without(row: string): void {
    this.awaited.delete(row);
    this.look();
  }

  private look(): void {
    const waiting = new Set(this.turns.map(({ row }) => row));
    if ([...this.awaited].every((row) => waiting.has(row))) this.turns.shift()?.resolve();
    if (this.awaited.size === 0) this.go();
  }
}
