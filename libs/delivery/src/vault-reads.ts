import { setTimeout as delay } from 'node:timers/promises';
import type { VaultReadItem } from '#contracts';
import { type Coalescer, coalesce, type Logger, metrics } from '#runtime';
import { type Vault, vaultBatch } from './vault.js';

export interface VaultReadsOptions {
  vault: Vault;
  target: string;
  logger: Logger;
  /** Called when the vault answers again after `unreachable`. */
  onBack(): void;
  /** Between two tries while it is away; default 1,000. */
  retryMs?: number;
}

/** Batched vault reads, and the watch for an unreachable vault to come back. */
export class VaultReads {
  readonly #options: VaultReadsOptions;
  readonly #stop = new AbortController();
  #watching = false;
  /** Rejects when the vault cannot be asked: nothing may be sent then. */
  readonly read: Coalescer<string, VaultReadItem>;

  constructor(options: VaultReadsOptions) {
    this.#options = options;
    this.read = coalesce({ maxBatch: vaultBatch, maxInFlight: 2, maxWaitMs: 0, run: (refs) => options.vault.read(refs) });
  }

  /** Asks for this lead every second until the vault answers. */
  unreachable(error: unknown, leadRef: string): void {
    metrics.vaultUnavailable.inc({ destination: this.#options.target });
    if (this.#watching) return;
    this.#watching = true;
    this.#options.logger.warn({ err: error, destination: this.#options.target }, 'vault unreachable; deliveries wait');
    void this.#watch(leadRef);
  }

  async #watch(leadRef: string): Promise<void> {
    const { vault, retryMs = 1_000 } = this.#options;
    while (!this.#stop.signal.aborted) {
      await delay(retryMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
      const answered = await vault.read([leadRef]).then(
        () => true,
        () => false,
      );
      if (answered) break;
    }
    this.#watching = false;
    if (!this.#stop.signal.aborted) this.#options.onBack();
  }

  stop(): void {
    this.#stop.abort();
  }
}
