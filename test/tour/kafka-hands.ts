import { type Admin, type Consumer, Kafka, type KafkaMessage, logLevel, type Producer } from 'kafkajs';
import { headers, topics } from '#contracts';
import { applyPatches } from '#messaging';
import { pause, uniqueName } from '#testkit';

// Without them an idle client of kafkajs warns of negative timeouts, on the terminal that the reader of the tour looks at.
applyPatches();

/** What the tour does on Kafka: loses records, repeats them, and reads what intake refused. */
export class KafkaHands {
  private readonly refused = new Map<string, number>();

  private constructor(
    private readonly kafka: Kafka,
    private readonly admin: Admin,
    private readonly producer: Producer,
    private readonly refusals: Consumer,
  ) {}

  static async open(brokers: string): Promise<KafkaHands> {
    const kafka = new Kafka({ brokers: brokers.split(','), clientId: 'failure-tour', logLevel: logLevel.NOTHING });
    const admin = kafka.admin();
    const producer = kafka.producer({ allowAutoTopicCreation: false });
    const refusals = kafka.consumer({ groupId: uniqueName('failure-tour'), maxWaitTimeInMs: 200, allowAutoTopicCreation: false });
    await Promise.all([admin.connect(), producer.connect(), refusals.connect()]);
    const hands = new KafkaHands(kafka, admin, producer, refusals);
    await hands.follow();
    return hands;
  }

  /** Dead letters of intake with this class since the tour began. */
  refusedAs(failureClass: string): number {
    return this.refused.get(failureClass) ?? 0;
  }

  async recordsOn(topic: string): Promise<number> {
    const offsets = await this.admin.fetchTopicOffsets(topic);
    return offsets.reduce((total, { high, low }) => total + Number(high) - Number(low), 0);
  }

  async deleteRecords(topic: string): Promise<number> {
    const lying = await this.recordsOn(topic);
    const ends = await this.admin.fetchTopicOffsets(topic);
    await this.admin.deleteTopicRecords({ topic, partitions: ends.map(({ partition, high }) => ({ partition, offset: high })) });
    return lying - (await this.recordsOn(topic));
  }

  /** Produces the topic's last record again with its key, value and headers; gives a count of the records after it that the group has done with. */
  async repeatLast(topic: string, group: string): Promise<() => Promise<number>> {
    const last = await this.lastRecord(topic);
    const [sent] = await this.producer.send({
      topic,
      acks: -1,
      messages: [{ partition: 0, key: last.key, value: last.value, headers: last.headers }],
    });
    const repeatedAt = BigInt(sent?.baseOffset ?? '0');
    return async () => {
      const [committed] = await this.admin.fetchOffsets({ groupId: group, topics: [topic] });
      return BigInt(committed?.partitions[0]?.offset ?? '-1') > repeatedAt ? 1 : 0;
    };
  }

  async close(): Promise<void> {
    await Promise.allSettled([this.refusals.disconnect(), this.producer.disconnect(), this.admin.disconnect()]);
  }

  private async follow(): Promise<void> {
    const topic = topics.intakeDlq;
    const [end] = await this.admin.fetchTopicOffsets(topic);
    await this.refusals.subscribe({ topic, fromBeginning: true });
    await this.refusals.run({
      autoCommit: false,
      eachMessage: ({ message }) => {
        const failureClass = text(message.headers?.[headers.errorClass]);
        if (BigInt(message.offset) >= BigInt(end?.high ?? '0')) this.refused.set(failureClass, this.refusedAs(failureClass) + 1);
        return Promise.resolve();
      },
    });
    this.refusals.seek({ topic, partition: 0, offset: end?.high ?? '0' });
  }

  private async lastRecord(topic: string): Promise<KafkaMessage> {
    const [end] = await this.admin.fetchTopicOffsets(topic);
    if (end === undefined || BigInt(end.high) <= BigInt(end.low)) throw new Error(`there is no record on ${topic}`);
    const consumer = this.kafka.consumer({ groupId: uniqueName('failure-tour'), maxWaitTimeInMs: 200 });
    let last: KafkaMessage | undefined;
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachMessage: ({ message }) => {
        last = message;
        return Promise.resolve();
      },
    });
    consumer.seek({ topic, partition: 0, offset: String(BigInt(end.high) - 1n) });
    const giveUpAt = Date.now() + 20_000;
    while (last === undefined && Date.now() < giveUpAt) await pause(50);
    await consumer.disconnect();
    if (last === undefined) throw new Error(`the last record of ${topic} could not be read`);
    return last;
  }
}

function text(value: unknown): string {
  const single: unknown = Array.isArray(value) ? value.at(-1) : value;
  return single instanceof Buffer ? single.toString() : String(single ?? '');
}
