import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '#runtime';

export interface FollowerOptions {
  /** What is done each time, in this order; one that fails does not keep the others from their turn. */
  steps: Readonly<Record<string, () => Promise<unknown>>>;
  everyMs: number;
  logger: Logger;
}

/** Does its steps again and again until it is stopped. Several instances may: every step compares before it sets. */
export class Follower {
  private readonly stopping = new AbortController();
  private done: Promise<void> | undefined;

  constructor(private readonly options: FollowerOptions) {}

  start(): void {
    this.done ??= this.follow();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.done;
  }

  private async follow(): Promise<void> {
    const { steps, everyMs, logger } = this.options;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      for (const [step, run] of Object.entries(steps)) {
        if (signal.aborted) return;
        await run().catch((err: unknown) => logger.warn({ err, part: step }, 'A step failed and is tried again'));
      }
      await delay(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
