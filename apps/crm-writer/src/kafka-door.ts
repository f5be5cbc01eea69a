import { setTimeout as delay } from 'node:timers/promises';
import { topics } from '#contracts';
import { BrokersUnavailable, type KafkaPort, verifyTopics } from '#messaging';
import type { Logger, ReadinessCheck } from '#runtime';

export interface KafkaDoorOptions {
  kafka: KafkaPort;
  destinations: readonly string[];
  groups: readonly string[];
  /** Joins the groups. */
  begin(): Promise<void>;
  logger: Logger;
}

const retryMs = 2_000;

/**
 * Joins the groups once the topics and the committed offsets are as they must be. Brokers that are away are waited for; wrong topics
 * reject with ConfigError, because a group that joins without offsets would skip leads.
 */
export class KafkaDoor {
  readonly #options: KafkaDoorOptions;
  readonly #stopping = new AbortController();
  #open = false;

  constructor(options: KafkaDoorOptions) {
    this.#options = options;
  }

  readonly readiness: ReadinessCheck = {
    name: 'topics',
    check: () => (this.#open ? { ok: true } : { ok: false, detail: 'Topics are not verified yet' }),
  };

  async open(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted && !(await this.#verified())) {
      await delay(retryMs, undefined, { signal }).catch(() => undefined);
    }
    if (signal.aborted) return;
    await this.#options.begin();
    this.#open = true;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #verified(): Promise<boolean> {
    const { kafka, destinations, groups, logger } = this.#options;
    try {
      const admin = await kafka.admin();
      try {
        await verifyTopics({ admin, destinations, groups, produces: [topics.leadResolved] });
      } finally {
        await admin.close();
      }
      return true;
    } catch (error) {
      if (!(error instanceof BrokersUnavailable)) throw error;
      logger.warn({ err: error, component: 'kafka' }, 'No broker answers');
      return false;
    }
  }
}
