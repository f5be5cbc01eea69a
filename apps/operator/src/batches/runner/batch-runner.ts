import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { BatchTools } from '../tools.js';
import { BatchRun } from './batch-run.js';
import { takeBatches } from './lease.js';

/** Between two looks for batches without a runner. */
const takeMs = 1_000;

/**
 * Runs approved batches, each under a lease that one runner has at a time: a second runner finds nothing to do, and takes over from one that
 * died after three seconds.
 */
export class BatchRunner {
  private readonly stopping = new AbortController();
  private readonly runner = randomUUID();
  private readonly runs = new Map<string, Promise<void>>();
  private wakeUp = new AbortController();
  private done: Promise<void> | undefined;

  constructor(private readonly tools: BatchTools) {}

  start(): void {
    this.done ??= this.loop();
  }

  /** Looks at once: something was approved. */
  wake(): void {
    this.wakeUp.abort();
  }

  /** Sends nothing more and gives every batch back. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.wakeUp.abort();
    await this.done;
    await Promise.all(this.runs.values());
  }

  private async loop(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      this.wakeUp = new AbortController();
      await this.take().catch((err: unknown) => this.tools.logger.warn({ err }, 'Replay batches cannot be read'));
      await delay(takeMs, undefined, { signal: AbortSignal.any([signal, this.wakeUp.signal]), ref: false }).catch(() => undefined);
    }
  }

  private async take(): Promise<void> {
    for (const batchId of await takeBatches(this.tools.db, this.runner)) {
      if (this.runs.has(batchId)) continue;
      const run = new BatchRun({ tools: this.tools, batchId, runner: this.runner, signal: this.stopping.signal });
      this.runs.set(
        batchId,
        run.run().finally(() => this.runs.delete(batchId)),
      );
    }
  }
}
