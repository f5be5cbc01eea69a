import { setTimeout as delay } from 'node:timers/promises';
import { groups, topics } from '#contracts';
import { BrokersUnavailable, type KafkaPort, verifyTopics } from '#messaging';
import type { Logger, ReadinessCheck } from '#runtime';

interface KafkaDoorOptions {
  kafka: KafkaPort;
  destinations: readonly string[];
  /** Joins the groups. */
  begin(): Promise<void>;
  logger: Logger;
}

const retryMs = 2_000;

/**
 * Opens the Kafka door once the topics and the committed offsets are as they must be. Brokers that are away are waited for, so that the HTTP door
 * works without them; wrong topics end the process, because a group that joins without offsets would skip leads.
 */
export class KafkaDoor {
  private readonly stopping = new AbortController();
  private opened = false;

  constructor(private readonly options: KafkaDoorOptions) {}

  readonly readiness: ReadinessCheck = {
    name: 'topics',
    check: () => (this.opened ? { ok: true } : { ok: false, detail: 'Topics are not verified yet' }),
  };

  /** Resolves once the groups are joined. Throws ConfigError with everything that is wrong with topics and offsets. */
  async open(): Promise<void> {
    while (!this.stopping.signal.aborted && !(await this.verified())) {
      await delay(retryMs, undefined, { signal: this.stopping.signal }).catch(() => undefined);
    }
    if (this.stopping.signal.aborted) return;
    await this.options.begin();
    this.opened = true;
  }

  stop(): void {
    this.stopping.abort();
  }

  private async verified(): Promise<boolean> {
    const { kafka, destinations, logger } = this.options;
    const admin = await kafka.admin();
    try {
      await verifyTopics({
        admin,
        destinations,
        groups: [groups.intake, groups.intakeStates],
        produces: [topics.leadAccepted, topics.leadResolved, topics.intakeDlq],
      });
      return true;
    } catch (error) {
      if (!(error instanceof BrokersUnavailable)) throw error;
      logger.warn({ err: error, component: 'kafka' }, 'No broker answers; only the HTTP door is open');
      return false;
    } finally {
      await admin.close();
    }
  }
}
