import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '#runtime';

/** Does a thing again and again, never twice at once. A failure is logged once, until it works again. */
export class Periodic {
  private readonly stopping = new AbortController();
  private done: Promise<void> | undefined;
  private isFailing = false;

  /** @param options.everyMs between the end of one and the begin of the next; the first begins after that time */
  constructor(
    private readonly options: { what: string; everyMs: number; run: (signal: AbortSignal) => Promise<unknown>; logger: Logger },
  ) {}

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
    const wait = () => delay(this.options.everyMs, undefined, { signal, ref: false }).catch(() => undefined);
    for (await wait(); !signal.aborted; await wait()) await this.once(signal);
  }

  private async once(signal: AbortSignal): Promise<void> {
    const { what, run, logger } = this.options;
    try {
      await run(signal);
      if (this.isFailing) logger.info({ component: what }, 'It works again');
      this.isFailing = false;
    } catch (err) {
      if (!this.isFailing && !signal.aborted) logger.warn({ err, component: what }, 'It failed, and is tried again');
      this.isFailing = true;
    }
  }
}
