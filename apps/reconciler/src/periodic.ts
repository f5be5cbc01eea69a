import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '#runtime';

interface PeriodicOptions {
  what: string;
  /** Between the end of one and the begin of the next. */
  everyMs: number;
  /** The same until it has worked once; default `everyMs`. */
  firstMs?: number;
  run: (signal: AbortSignal) => Promise<unknown>;
  logger: Logger;
}

/** Does a thing again and again, never twice at once. A failure is logged once, until it works again. */
export class Periodic {
  private readonly stopping = new AbortController();
  private done: Promise<void> | undefined;
  private isFailing = false;
  private hasWorked = false;

  constructor(private readonly options: PeriodicOptions) {}

  start(): void {
    this.done ??= this.loop();
  }

  /** Waits for what is being done. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.done;
  }

  private async loop(): Promise<void> {
    const { signal } = this.stopping;
    const { everyMs, firstMs = everyMs } = this.options;
    const wait = () => delay(this.hasWorked ? everyMs : firstMs, undefined, { signal, ref: false }).catch(() => undefined);
    for (await wait(); !signal.aborted; await wait()) await this.once(signal);
  }

  private async once(signal: AbortSignal): Promise<void> {
    const { what, run, logger } = this.options;
    try {
      await run(signal);
      this.hasWorked = true;
      if (this.isFailing) logger.info({ component: what }, 'It works again');
      this.isFailing = false;
    } catch (err) {
      if (!this.isFailing && !signal.aborted) logger.warn({ err, component: what }, 'It failed, and is tried again');
      this.isFailing = true;
    }
  }
}
