/**
 * One kill for several rows: it happens when each of them is ready for it, or has failed before. A row whose fault lasts only seconds begins it once
 * all that take longer are ready.
 */
export class SharedKill {
  private readonly awaited: Set<string>;
  private readonly hurried = new Set<string>();
  private readonly turns: (() => void)[] = [];
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

  /** Resolves when only rows that wait here as well are not ready yet. */
  turn(row: string): Promise<void> {
    this.hurried.add(row);
    return new Promise((resolve) => {
      this.turns.push(resolve);
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
    if ([...this.awaited].every((row) => this.hurried.has(row))) for (const resolve of this.turns.splice(0)) resolve();
    if (this.awaited.size === 0) this.go();
  }
}
