import { setTimeout as delay } from 'node:timers/promises';
import type { Logger, ReadinessCheck } from '#runtime';
import { BrokersUnavailable } from '../kafka/errors.js';
import type { KafkaPort } from '../kafka/ports.js';
import { type VerifyTopicsOptions, verifyTopics } from './topics.js';

export interface KafkaDoorOptions extends Omit<VerifyTopicsOptions, 'admin'> {
  kafka: KafkaPort;
  /** Joins the groups. */
  begin(): Promise<unknown>;
  logger: Logger;
}

const retryMs = 2_000;

/**
 * Joins a service's groups once topics and committed offsets are as they must be. Brokers that are away are waited for, so that the rest of
 * the service works without them; wrong topics reject with ConfigError, because a group that joins without offsets would skip records.
 */
export class KafkaDoor {
  private readonly stopping = new AbortController();
  private opened = false;

  constructor(private readonly options: KafkaDoorOptions) {}

  readonly readiness: ReadinessCheck = {
    name: 'topics',
    check: () => (this.opened ? { ok: true } : { ok: false, detail: 'Topics are not verified yet' }),
  };

  /** Resolves once the groups are joined, or after `stop`. */
  async open(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted && !(await this.verified())) {
      await delay(retryMs, undefined, { signal }).catch(() => undefined);
    }
    if (signal.aborted) return;
    await this.options.begin();
    this.opened = true;
  }

  stop(): void {
    this.stopping.abort();
  }

  private async verified(): Promise<boolean> {
    const { kafka, destinations, groups, produces, logger } = this.options;
    const admin = await kafka.admin();
    try {
      await verifyTopics({ admin, destinations, groups, produces });
      return true;
    } catch (error) {
      if (!(error instanceof BrokersUnavailable)) throw error;
      logger.warn({ err: error, component: 'kafka' }, 'No broker answers');
      return false;
    } finally {
      await admin.close();
    }
  }
}
