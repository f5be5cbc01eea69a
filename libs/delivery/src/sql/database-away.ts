import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseUnavailable, type Logger } from '#runtime';
import { Stopped } from './errors.js';

export interface DatabaseAwayOptions {
  /** Called when the first statement found the database away, and when one got through again. */
  onAway(): void;
  onBack(): void;
  logger: Logger;
  /** Between two tries of one statement; default 1,000. */
  retryMs?: number;
}

/** Keeps work waiting while the database is away: nothing is given up and nothing advances. */
export class DatabaseAway {
  readonly #options: DatabaseAwayOptions;
  readonly #stop = new AbortController();
  #away = false;

  constructor(options: DatabaseAwayOptions) {
    this.#options = options;
  }

  /** Resolves when the failed statement is worth another try. @throws Stopped */
  async wait(error: unknown): Promise<void> {
    if (!this.#away) {
      this.#away = true;
      const level = error instanceof DatabaseUnavailable ? 'warn' : 'error';
      this.#options.logger[level]({ err: error }, 'statement failed; deliveries wait for the database');
      this.#options.onAway();
    }
    await delay(this.#options.retryMs ?? 1_000, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    if (this.#stop.signal.aborted) throw new Stopped();
  }

  /** A statement got through. */
  answered(): void {
    if (!this.#away) return;
    this.#away = false;
    this.#options.logger.info('statements get through again');
    this.#options.onBack();
  }

  /** Lets everything that waits give up. */
  stop(): void {
    this.#stop.abort();
  }
}
