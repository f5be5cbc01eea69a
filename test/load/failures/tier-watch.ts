import { groups, headers, retryTiers, retryTopic, topics } from '#contracts';
import { createGroupConsumer } from '#messaging';
import { createLogger } from '#runtime';
import { uniqueName } from '#testkit';
import type { WriterWorld } from '../crm-writer/writer-world.js';

/** Reads from the records of a world's tiers when each lead is due that waits there. */
export class TierWatch {
  /** Event id → epoch milliseconds. */
  private readonly due = new Map<string, number>();
  private stopReading: () => Promise<void> = () => Promise.resolve();

  private constructor(private readonly world: WriterWorld) {}

  static async start(world: WriterWorld): Promise<TierWatch> {
    const watch = new TierWatch(world);
    const consumer = createGroupConsumer({
      kafka: world.kafka,
      group: uniqueName('due'),
      topics: retryTiers.map((tier) => retryTopic(topics.leadAccepted, groups.crmWriter(world.destination), tier)),
      sessionTimeoutMs: 30_000,
      logger: createLogger('failures-bench', 'silent'),
      onReceipts: (receipts) => {
        for (const { record } of receipts)
          watch.due.set(String(record.headers[headers.eventId]), Number(record.headers[headers.notBefore]));
        for (const receipt of receipts) receipt.settle();
      },
    });
    await consumer.start();
    watch.stopReading = () => consumer.stop();
    return watch;
  }

  /**
   * Start minus due time, in milliseconds, ascending, of the second attempts of all leads in the tables. Throws where one was made without a
   * record on a tier.
   */
  async lateness(): Promise<number[]> {
    const rows = await this.world.sql<{ event_id: string; started_ms: number }>(
      `SELECT o.event_id, (extract(epoch FROM a.started_at) * 1000)::float8 AS started_ms
       FROM crm_writer.attempt a JOIN crm_writer.operation o USING (operation_key) WHERE a.number = 2`,
    );
    const late = rows.map(({ event_id, started_ms }) => started_ms - (this.due.get(event_id) ?? Number.NaN));
    if (late.some(Number.isNaN)) throw new Error('an attempt was made again without a record on the tier');
    return late.sort((a, b) => a - b);
  }

  stop(): Promise<void> {
    return this.stopReading();
  }
}

/** Throws where a sweeper had to wake what a tier should have: an accuracy that it helps with says nothing of the tiers. */
export function withoutSweeper(woken: number): void {
  if (woken > 0) throw new Error(`the sweeper woke ${woken} deliveries that the tiers should have`);
}
