import { ProduceRefused } from '../kafka/errors.js';
import type { AdminPort, KafkaPort, OutgoingRecord, ProducerPort } from '../kafka/ports.js';

/** What the publisher needs of Kafka: connections are opened at first use, and again after a failed opening. */
export class RelayKafka {
  private producer: Promise<ProducerPort> | undefined;
  private admin: Promise<AdminPort> | undefined;

  constructor(private readonly kafka: KafkaPort) {}

  async send(records: readonly OutgoingRecord[]): Promise<void> {
    this.producer ??= this.kafka.producer().catch((error: unknown) => {
      this.producer = undefined;
      throw error;
    });
    await (await this.producer).send(records);
  }

  /** @throws ProduceRefused where the topic does not exist, else like `send`. */
  async partitions(topic: string): Promise<number> {
    this.admin ??= this.kafka.admin().catch((error: unknown) => {
      this.admin = undefined;
      throw error;
    });
    const [description] = await (await this.admin).describeTopics([topic]);
    const partitions = description?.partitions.length ?? 0;
    if (partitions === 0) throw new ProduceRefused('UNKNOWN_TOPIC_OR_PARTITION', false);
    return partitions;
  }

  async close(): Promise<void> {
    const openings: (Promise<{ close(): Promise<void> }> | undefined)[] = [this.producer, this.admin];
    await Promise.allSettled(openings.map(async (opening) => (await opening)?.close()));
  }
}
