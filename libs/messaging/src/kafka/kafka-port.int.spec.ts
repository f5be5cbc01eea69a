import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import Broker from 'kafkajs/src/broker/index.js';
import { createLogger, metrics } from '#runtime';
import { eventually, testInfra, uniqueName } from '#testkit';
import { createKafka } from './create-kafka.js';
import { ProduceRefused } from './errors.js';
import type { AdminPort, FetchedBatch, KafkaPort } from './ports.js';

jest.setTimeout(90_000);

const logger = createLogger('kafka-port-spec', 'silent');
let kafka: KafkaPort;
let admin: AdminPort;

beforeAll(async () => {
  kafka = createKafka({ brokers: testInfra().kafkaBrokers.split(','), clientId: 'kafka-port-spec', logger });
  admin = await kafka.admin();
});
afterAll(() => kafka.close());

const quiet = {
  assigned: () => undefined,
  revoking: () => undefined,
  offsetReset: () => undefined,
  crashed: () => undefined,
  alive: () => undefined,
};

async function newTopic(partitions = 1, config?: Record<string, string>): Promise<string> {
  const topic = uniqueName('port');
  await admin.createTopics([{ topic, partitions, replication: 1, config }]);
  return topic;
}

describe('Kafka port', () => {
  it('carries keys, values and header bytes unchanged, tombstones and missing headers included', async () => {
    const topic = await newTopic();
    const producer = await kafka.producer();
    const bytes = Buffer.from([0x00, 0xff, 0xc3, 0x28]);
    await producer.send([
      { topic, key: bytes, value: bytes, headers: { binary: bytes, text: 'é' } },
      { topic, key: null, value: null },
      { topic, key: Buffer.alloc(0), value: Buffer.alloc(0) },
    ]);
    const batches: FetchedBatch[] = [];
    const batch = (fetched: FetchedBatch): Promise<void> => Promise.resolve(void batches.push(fetched));
    const consumer = kafka.consumer({ group: uniqueName('g'), topics: [topic], sessionTimeoutMs: 30_000, on: { ...quiet, batch } });
    await consumer.start();
    await eventually('three records', () => batches.flatMap(({ records }) => records).length === 3);
    await consumer.stop();
    const [first, second, third] = batches.flatMap(({ records }) => records);
    expect(first).toMatchObject({ key: bytes, value: bytes, headers: { binary: bytes, text: Buffer.from('é') } });
    expect(second).toMatchObject({ key: null, value: null, headers: {} });
    expect(third).toMatchObject({ key: Buffer.alloc(0), value: Buffer.alloc(0) });
    expect(batches.at(-1)).toMatchObject({ nextOffset: 3, highWatermark: 3 });
  });

  it('keeps the order of a partition over 50 parallel sends', async () => {
    const topic = await newTopic(3);
    const producer = await kafka.producer();
    const sends = Array.from({ length: 50 }, (_, n) =>
      producer.send([{ topic, key: Buffer.from('one lead'), value: Buffer.from(String(n)) }]),
    );
    await Promise.all(sends);
    const counted = await metrics.messagesSent.get();
    expect(counted.values.find(({ labels }) => labels.topic === topic)?.value).toBe(50);
    const values: string[] = [];
    const batch = (fetched: FetchedBatch): Promise<void> =>
      Promise.resolve(void values.push(...fetched.records.map(({ value }) => String(value))));
    const consumer = kafka.consumer({ group: uniqueName('g'), topics: [topic], sessionTimeoutMs: 30_000, on: { ...quiet, batch } });
    await consumer.start();
    await eventually('all records', () => values.length >= 50);
    await consumer.stop();
    expect(values).toEqual(Array.from({ length: 50 }, (_, n) => String(n)));
  });

  it('names a refusal that one record can be the cause of, and one that it cannot', async () => {
    const topic = await newTopic(1, { 'max.message.bytes': '1000' });
    const producer = await kafka.producer();
    const tooLarge = producer.send([{ topic, key: null, value: Buffer.alloc(5_000, 'x') }]);
    await expect(tooLarge).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE', recordFault: true });
    const nowhere = producer.send([{ topic: uniqueName('nowhere'), key: null, value: null }]);
    await expect(nowhere).rejects.toThrow(ProduceRefused);
    await expect(nowhere).rejects.toMatchObject({ code: 'UNKNOWN_TOPIC_OR_PARTITION', recordFault: false });
    await producer.send([{ topic, key: null, value: Buffer.from('fits') }]);
    expect(await admin.topicOffsets(topic)).toEqual([{ partition: 0, low: 0n, high: 1n }]);
  });

  it('refuses a record for a partition that the topic does not have, which kafkajs would drop and report as sent', async () => {
    const topic = await newTopic();
    const producer = await kafka.producer();
    await expect(producer.send([{ topic, key: null, value: null, partition: 7 }])).rejects.toMatchObject({
      code: 'UNKNOWN_TOPIC_OR_PARTITION',
    });
  });

  it('creates topics with leaders at once, leaves existing ones alone and tells unknown ones', async () => {
    const [one, two] = [uniqueName('port'), uniqueName('port')];
    const wanted = (topic: string) => ({ topic, partitions: 2, replication: 1, config: { 'retention.ms': '3600000' } });
    expect(await admin.createTopics([wanted(one)])).toEqual({ created: [one], existing: [] });
    expect(await admin.createTopics([wanted(one), wanted(two)])).toEqual({ created: [two], existing: [one] });
    const described = await admin.describeTopics([one, uniqueName('nowhere')]);
    expect(described).toEqual([
      {
        topic: one,
        partitions: [0, 1].map((partition) => ({ partition, leader: 1, replicas: [1], isr: [1] })),
      },
    ]);
    await admin.addPartitions([{ topic: two, partitions: 3 }]);
    await admin.waitForLeaders([two]);
    expect((await admin.describeTopics([two]))[0]?.partitions).toHaveLength(3);
  });

  it('reads and changes one setting of a topic without losing the others', async () => {
    const topic = await newTopic(1, { 'retention.ms': '3600000', 'max.message.bytes': '2000' });
    await admin.setTopicConfig(topic, { 'retention.ms': '7200000' });
    const config = (await admin.topicConfigs([topic])).get(topic);
    expect(config).toMatchObject({ 'retention.ms': '7200000', 'max.message.bytes': '2000' });
  });

  it('commits the first offsets of a group that never ran, and tells them from none', async () => {
    const topic = await newTopic(2);
    const group = uniqueName('g');
    const producer = await kafka.producer();
    // One request per partition: of one that a new leader refuses in part, the accepted part is written again by the second try.
    await producer.send([0, 0, 0].map((partition) => ({ topic, key: null, value: null, partition })));
    await producer.send([{ topic, key: null, value: null, partition: 1 }]);
    await admin.deleteRecords(topic, [{ partition: 0, before: 2n }]);
    expect(await admin.topicOffsets(topic)).toEqual([
      { partition: 0, low: 2n, high: 3n },
      { partition: 1, low: 0n, high: 1n },
    ]);
    await admin.setGroupOffsets(group, [{ topic, partition: 0, offset: 2n }]);
    expect(await admin.groupOffsets(group, [topic])).toEqual([
      { topic, partition: 0, offset: 2n },
      { topic, partition: 1, offset: undefined },
    ]);
    expect(await admin.listGroups()).toContain(group);
    expect(await admin.describeGroups([group])).toEqual([{ group, state: 'Empty', members: [] }]);
  });

  it('says of a group that only newer clients can describe that it cannot be read', async () => {
    const topic = await newTopic();
    const group = uniqueName('g');
    await admin.setGroupOffsets(group, [{ topic, partition: 0, offset: 0n }]);
    // What Kafka 4.4 answers an older client about a group of the newer protocol, though it lists it.
    const described = jest
      .spyOn(Broker.prototype, 'describeGroups')
      .mockResolvedValue({ groups: [{ groupId: group, state: 'Dead', members: [] }] });
    expect(await admin.describeGroups([group])).toEqual([{ group, state: 'Unreadable (newer group protocol)', members: [] }]);
    expect(await admin.groupOffsets(group, [topic])).toEqual([{ topic, partition: 0, offset: 0n }]);
    described.mockRestore();
    const never = uniqueName('g');
    expect(await admin.describeGroups([never])).toEqual([{ group: never, state: 'Dead', members: [] }]);
  });

  it('takes steering of a consumer that is not running for nothing', async () => {
    const batch = () => Promise.resolve();
    const consumer = kafka.consumer({
      group: uniqueName('g'),
      topics: [await newTopic()],
      sessionTimeoutMs: 30_000,
      on: { ...quiet, batch },
    });
    consumer.pause('any', [0]);
    await consumer.start();
    await consumer.stop();
    consumer.resume('any', [0]);
  });

  it('goes on with fresh connections after its producer was given up', async () => {
    const topic = await newTopic();
    const away = createKafka({ brokers: ['127.0.0.1:1'], clientId: 'kafka-port-spec', logger });
    const producer = await away.producer();
    await expect(producer.send([{ topic, key: null, value: null }])).rejects.toThrow('Kafka did not answer');
    await away.close();
  });
});
