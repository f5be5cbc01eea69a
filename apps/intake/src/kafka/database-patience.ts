import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseUnavailable, type Logger } from '#runtime';

/** The part of a group consumer that is steered here. */
export interface PausableGroup {
  pause(reason: string): void;
  resume(reason: string): void;
}

const reason = 'database';
const retryMs = 1_000;

/** Work is over because the process stops: what was not settled comes again. */
export class Stopping extends Error {
  override readonly name = 'Stopping';
}

/** Keeps a batch until PostgreSQL takes it: the group pauses, nothing is settled, nothing is given up. */
export class DatabasePatience {
  private readonly stopping = new AbortController();

  constructor(private readonly options: { group: () => PausableGroup; logger: Logger; retryMs?: number }) {}

  /** The result of `run`, tried again every second while PostgreSQL is away. Throws Stopping, and what `run` throws otherwise. */
  async untilDone<T>(run: () => Promise<T>): Promise<T> {
    for (let paused = false; ; paused = true) {
      try {
        const result = await run();
        if (paused) this.options.group().resume(reason);
        return result;
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) throw error;
        if (!paused) {
          this.options.logger.warn({ err: error, reason }, 'PostgreSQL is away; the group pauses');
          this.options.group().pause(reason);
        }
        await delay(this.options.retryMs ?? retryMs, undefined, { signal: this.stopping.signal }).catch(() => undefined);
      }
      if (this.stopping.signal.aborted) throw new Stopping();
    }
  }

  stop(): void {
    this.stopping.abort();
  }
}
