import { setTimeout as delay } from 'node:timers/promises';
import type { ReconcileConfig } from '#runtime';
import { end, takeRuns } from './lease.js';
import { purgeOld } from './purge.js';
import { Run } from './run.js';
import type { RunRow } from './run-row.js';
import { startDueRun } from './start-run.js';
import type { RunTools } from './tools.js';

const purgeEveryMs = 3_600_000;

/** Puts down the runs that are due, and works at all that wait, each under a lease: a run whose process died is gone on with by another. */
export class Runner {
  private readonly stopping = new AbortController();
  private readonly runs = new Map<string, Promise<void>>();
  private wakeUp = new AbortController();
  private done: Promise<void> | undefined;
  private purgeAt = 0;

  constructor(private readonly options: { tools: RunTools; pollMs: number }) {}

  start(): void {
    this.done ??= this.loop();
  }

  /** Looks at once: somebody asked for a run. */
  wake(): void {
    this.wakeUp.abort();
  }

  /** Gives every run back after its page in hand was dropped. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.wakeUp.abort();
    await this.done;
    await Promise.all(this.runs.values());
  }

  private async loop(): Promise<void> {
    const { tools, pollMs } = this.options;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      this.wakeUp = new AbortController();
      await this.look().catch((err: unknown) => tools.logger.warn({ err }, 'Comparisons cannot be read'));
      await delay(pollMs, undefined, { signal: AbortSignal.any([signal, this.wakeUp.signal]), ref: false }).catch(() => undefined);
    }
  }

  private async look(): Promise<void> {
    const { db, site, leaseMs } = this.options.tools;
    for (const { name, reconcile } of Object.values(site.destinations)) {
      if (isScheduled(reconcile)) await startDueRun(db, name, reconcile);
    }
    for (const row of await db.transaction((tx) => takeRuns(tx, leaseMs))) await this.begin(row);
    if (performance.now() < this.purgeAt) return;
    // First, so that one that fails is not tried again with every look.
    this.purgeAt = performance.now() + purgeEveryMs;
    await purgeOld(db);
  }

  private async begin(row: RunRow): Promise<void> {
    const { tools } = this.options;
    const owner = row.lease_owner ?? '';
    const config = tools.site.destinations[row.destination];
    if (config?.reconcile === undefined || !tools.connectors.has(row.destination)) {
      const holder = { runId: row.run_id, owner, leaseMs: tools.leaseMs };
      await end(tools.db, holder, { state: 'failed', reason: 'the site file does not have it compared any more', calls: row.calls });
      return;
    }
    const run = new Run({ tools, row, owner, signal: this.stopping.signal }, config);
    const done = run.run().finally(() => {
      this.runs.delete(owner);
      this.wake();
    });
    this.runs.set(owner, done);
  }
}

const isScheduled = (reconcile: ReconcileConfig | undefined): reconcile is ReconcileConfig => reconcile?.everyMs !== undefined;
