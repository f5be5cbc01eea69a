import { setTimeout as sleep } from 'node:timers/promises';
import type { Message, Producer, RecordMetadata } from 'kafkajs';
import { metrics } from '#runtime';
import { BrokerPool } from './broker-pool.js';
import { newClient } from './client.js';
import { sendError } from './client-errors.js';
import { BrokersUnavailable, ProduceRefused, UnsupportedBroker } from './errors.js';
import { chosenPartition, partitionFor } from './partitioner.js';
import type { KafkaOptions, OutgoingRecord, ProducerPort } from './ports.js';
import { TurnPerKey } from './turns.js';

const allReplicas = -1;
/** How long the broker may wait for its replicas, and we for the broker. */
const ackTimeoutMs = 10_000;
const requestTimeoutMs = 15_000;
/** Tries of one send while Kafka answers "not here" or "not now"; the caller decides what comes after. Silence is not tried again here. */
const tries = 4;
const firstPauseMs = 100;
/** kafkajs would repeat a timed-out request on the same dead socket, with metadata as old. */
const retry = { retries: 0 };
/** After a failed connect, the next one is not tried before this. */
const reconnectPauseMs = 1_000;

/** One request: the records by topic, and the partitions it must have alone. */
interface Routed {
  topicMessages: { topic: string; messages: Message[] }[];
  partitions: Set<string>;
}

/**
 * acks=all, not idempotent, one request in flight per partition, bounded retries. A send that got no answer throws the connections away:
 * kafkajs would go on with the dead socket.
 */
export class KafkajsProducer implements ProducerPort {
  private readonly turns = new TurnPerKey();
  private readonly partitionCounts = new Map<string, number>();
  private readonly learning = new Map<string, Promise<void>>();
  private connecting: Promise<Producer> | undefined;
  private current: Producer | undefined;
  private notBeforeMs = 0;
  private opened = 0;
  private closed = false;

  constructor(private readonly options: KafkaOptions) {}

  /** Opens the connection; later sends repair it by themselves. @throws BrokersUnavailable, UnsupportedBroker */
  async connect(): Promise<void> {
    await this.client();
  }

  async send(records: readonly OutgoingRecord[]): Promise<void> {
    if (records.length === 0) return;
    const unknown = records.find(({ topic }) => !this.partitionCounts.has(topic));
    if (unknown !== undefined) await this.learnPartitions(records);
    const routed = this.route(records);
    await this.turns.take(routed.partitions, () => this.publish(routed));
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.turns.idle();
    const producer = await this.connecting?.catch(() => undefined);
    await producer?.disconnect();
  }

  private route(records: readonly OutgoingRecord[]): Routed {
    const byTopic = new Map<string, Message[]>();
    const partitions = new Set<string>();
    for (const record of records) {
      const { topic, key, value, headers } = record;
      const partition = record.partition ?? partitionFor(topic, key, this.partitionCounts.get(topic) ?? 1);
      partitions.add(place(topic, partition));
      const message: Message = { key, value, headers, partition };
      const messages = byTopic.get(topic);
      if (messages === undefined) byTopic.set(topic, [message]);
      else messages.push(message);
    }
    return { topicMessages: [...byTopic].map(([topic, messages]) => ({ topic, messages })), partitions };
  }

  private async publish(routed: Routed): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const failure = await this.tryOnce(routed);
      if (failure === undefined) return;
      if (!(failure instanceof ProduceRefused && failure.passing) || attempt === tries) throw failure;
      await sleep(firstPauseMs * 2 ** attempt);
    }
  }

  private async tryOnce({ topicMessages, partitions }: Routed): Promise<Error | undefined> {
    const producer = await this.client();
    try {
      const acknowledged = await producer.sendBatch({ acks: allReplicas, timeout: ackTimeoutMs, topicMessages });
      assertAcknowledged(partitions, acknowledged);
      for (const { topic, messages } of topicMessages) metrics.messagesSent.inc({ topic }, messages.length);
      return undefined;
    } catch (error) {
      const failure = sendError(error);
      if (failure instanceof BrokersUnavailable) this.discard(producer);
      else if (failure instanceof ProduceRefused && failure.code === 'UNKNOWN_TOPIC_OR_PARTITION') this.partitionCounts.clear();
      return failure;
    }
  }

  /** Sends that wait for the same topics wait for one answer, and go on in the order they came. */
  private learnPartitions(records: readonly OutgoingRecord[]): Promise<unknown> {
    const topics = [...new Set(records.map(({ topic }) => topic))];
    return Promise.all(
      topics.map((topic) => {
        const asked = this.learning.get(topic) ?? this.askPartitions(topic).finally(() => this.learning.delete(topic));
        this.learning.set(topic, asked);
        return asked;
      }),
    );
  }

  private async askPartitions(topic: string): Promise<void> {
    if (this.partitionCounts.has(topic)) return;
    const pool = new BrokerPool(this.options);
    try {
      const { topicMetadata } = await pool.metadata([topic]);
      const partitions = topicMetadata[0]?.partitionMetadata.length ?? 0;
      if (partitions === 0) throw new ProduceRefused('UNKNOWN_TOPIC_OR_PARTITION', false);
      this.partitionCounts.set(topic, partitions);
    } catch (error) {
      throw sendError(error);
    } finally {
      await pool.close();
    }
  }

  private client(): Promise<Producer> {
    if (this.closed) return Promise.reject(new BrokersUnavailable('the producer is closed'));
    if (this.connecting === undefined && Date.now() < this.notBeforeMs) {
      return Promise.reject(new BrokersUnavailable('the last connect failed less than a second ago'));
    }
    this.connecting ??= this.open();
    return this.connecting;
  }

  private async open(): Promise<Producer> {
    try {
      this.current = await this.openAny();
      return this.current;
    } catch (error) {
      this.connecting = undefined;
      this.notBeforeMs = Date.now() + reconnectPauseMs;
      throw sendError(error);
    }
  }

  /** Each configured broker is asked once, the next one first at the next time: a new kafkajs client would always begin with the first. */
  private async openAny(): Promise<Producer> {
    for (let left = this.options.brokers.length - 1; ; left -= 1) {
      const producer = this.newProducer();
      try {
        await producer.connect();
        return producer;
      } catch (error) {
        await producer.disconnect().catch(() => undefined);
        if (left <= 0 || error instanceof UnsupportedBroker) throw error;
      }
    }
  }

  private newProducer(): Producer {
    const { brokers, requestTimeoutMs: limitMs = requestTimeoutMs } = this.options;
    const first = this.opened++ % brokers.length;
    const client = newClient(this.options, {
      brokers: [...brokers.slice(first), ...brokers.slice(0, first)],
      requestTimeout: Math.min(requestTimeoutMs, limitMs),
      retry,
    });
    return client.producer({ createPartitioner: () => chosenPartition, idempotent: false, allowAutoTopicCreation: false, retry });
  }

  /** Not awaited: a disconnect waits for the answers that will not come. */
  private discard(producer: Producer): void {
    if (producer === this.current) {
      this.current = undefined;
      this.connecting = undefined;
    }
    producer.disconnect().catch(() => undefined);
  }
}

const place = (topic: string, partition: number): string => `${topic}/${partition}`;

/**
 * When a partition moves to a broker that has answered already while another one is being retried, kafkajs sends it nowhere and reports
 * success. An acknowledgement of every partition is what counts.
 */
function assertAcknowledged(partitions: Set<string>, acknowledged: RecordMetadata[]): void {
  const answered = new Set(acknowledged.map(({ topicName, partition }) => place(topicName, partition)));
  for (const partition of partitions) {
    if (!answered.has(partition)) throw new BrokersUnavailable('a partition was not acknowledged');
  }
}
