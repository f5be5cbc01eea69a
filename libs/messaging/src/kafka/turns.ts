/** Lets work that shares a key run one after another, in the order of asking, and everything else side by side. */
export class TurnPerKey {
  private readonly last = new Map<string, Promise<void>>();

  /** Runs the work once all earlier work under any of its keys has ended, however it ended. */
  async take<T>(keys: Iterable<string>, work: () => Promise<T>): Promise<T> {
    const mine = [...keys];
    const before = mine.flatMap((key) => this.last.get(key) ?? []);
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    for (const key of mine) this.last.set(key, ended);
    try {
      if (before.length > 0) await Promise.all(before);
      return await work();
    } finally {
      end();
      for (const key of mine) if (this.last.get(key) === ended) this.last.delete(key);
    }
  }

  /** Resolves when all work asked for so far has ended. */
  async idle(): Promise<void> {
    await Promise.all(this.last.values());
  }
}
