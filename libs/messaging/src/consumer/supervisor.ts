import { setTimeout as sleep } from 'node:timers/promises';
import { UnsupportedBroker } from '../kafka/errors.js';
import type { ConsumerPort } from '../kafka/ports.js';

export interface SupervisorOptions {
  /** A new member; `ended` is to be called when it has ended by itself. */
  build(ended: (error: Error) => void): ConsumerPort;
  /** The member is gone or is about to be stopped: nothing of it counts any more. */
  onDown(error: unknown, retryInMs: number): void;
  firstPauseMs?: number;
  maxPauseMs?: number;
}

const firstPauseMs = 1_000;
const maxPauseMs = 30_000;
/** A member that ran so long has earned the first pause again. */
const healthyMs = 60_000;
/** A member whose own stop hangs is left to its session timeout. */
const stopTimeoutMs = 10_000;

/**
 * Keeps exactly one member of the group alive. kafkajs ends for good on some errors and restarts by itself on others; here the client never
 * restarts, and this builds the next one after the last has gone, with growing pauses, for ever.
 */
export class Supervisor {
  private readonly stopped = new AbortController();
  private endCurrent: ((error: Error) => void) | undefined;
  private running: Promise<void> | undefined;
  /** The member that is alive, if one is. */
  current: ConsumerPort | undefined;

  constructor(private readonly options: SupervisorOptions) {}

  /** Resolves when the first member has joined or failed; later ones are built unseen. @throws UnsupportedBroker: waiting will not help. */
  async start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.running = this.run((error) => (error instanceof UnsupportedBroker ? reject(error) : resolve())).finally(resolve);
    });
  }

  /** Ends the running member as if it had crashed. */
  fail(error: unknown): void {
    this.endCurrent?.(error instanceof Error ? error : new Error('A handler failed with something that is no error', { cause: error }));
  }

  /** Ends the member, leaving the group, and builds no other. */
  async stop(): Promise<void> {
    this.stopped.abort();
    this.endCurrent?.(new Error('stopped'));
    await this.running;
  }

  private async run(firstTried: (error?: unknown) => void): Promise<void> {
    const { firstPauseMs: first = firstPauseMs, maxPauseMs: most = maxPauseMs } = this.options;
    let pauseMs = first;
    while (!this.stopped.signal.aborted) {
      const startedAtMs = Date.now();
      const error = await this.oneLife(firstTried);
      if (this.stopped.signal.aborted) return;
      if (Date.now() - startedAtMs > healthyMs) pauseMs = first;
      this.options.onDown(error, pauseMs);
      await this.dispose();
      if (error instanceof UnsupportedBroker) return firstTried(error);
      firstTried();
      await sleep(pauseMs, undefined, { signal: this.stopped.signal }).catch(() => undefined);
      pauseMs = Math.min(pauseMs * 2, most);
    }
  }

  /** Builds a member and resolves with the reason of its end. */
  private async oneLife(joined: () => void): Promise<unknown> {
    const error = await new Promise<Error>((end) => {
      this.endCurrent = end;
      this.current = this.options.build(end);
      this.current.start().then(joined, end);
    });
    if (this.stopped.signal.aborted) await this.dispose();
    return error;
  }

  private async dispose(): Promise<void> {
    const member = this.current;
    this.current = undefined;
    this.endCurrent = undefined;
    const timeUp = sleep(stopTimeoutMs, undefined, { ref: false });
    await Promise.race([member?.stop().catch(() => undefined), timeUp]);
  }
}
