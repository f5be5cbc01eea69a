import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type AdminPort, createKafka, type KafkaPort, type ProducerPort } from '#messaging';
import { createLogger } from '#runtime';
import { eventually, lagByKafkaTool, testInfra, uniqueName } from '#testkit';
import { readLag } from './read-lag.js';

const partitions = [0, 1, 2];

describe('lag against a real Kafka', () => {
  const { kafkaBrokers } = testInfra();
  const topic = uniqueName('lag');
  const groups = [uniqueName('lag-a'), uniqueName('lag-b')];
  const [paused = '', other = ''] = groups;
  let kafka: KafkaPort;
  let admin: AdminPort;
  let producer: ProducerPort;

  beforeAll(async () => {
    kafka = createKafka({ brokers: kafkaBrokers.split(','), clientId: 'lag-spec', logger: createLogger('lag-spec', 'silent') });
    admin = await kafka.admin();
    producer = await kafka.producer();
    await admin.createTopics([{ topic, partitions: partitions.length, replication: 1 }]);
  });
  afterAll(async () => {
    await admin.deleteTopics([topic]);
    await kafka.close();
  });

  const produce = (count: number) =>
    producer.send(Array.from({ length: count }, (_, index) => ({ topic, key: Buffer.from(`key-${index}`), value: Buffer.from('x') })));
  const catchUp = async (group: string) => {
    const ends = await admin.topicOffsets(topic);
    await admin.setGroupOffsets(
      group,
      ends.map(({ partition, high }) => ({ topic, partition, offset: high })),
    );
  };
  const read = (specs = groups) =>
    readLag(
      admin,
      specs.map((group) => ({ group, topics: [topic] })),
    );
  type Row = { group: string; partition: number; committed: bigint | undefined; lag: bigint | undefined };
  const sorted = (rows: Row[]) =>
    rows
      .map(({ group, partition, committed, lag }) => ({ group, partition, committed, lag }))
      .sort((a, b) => a.group.localeCompare(b.group) || a.partition - b.partition);
  const ours = async () => sorted((await read()).partitions);
  const theirs = async () => sorted(await lagByKafkaTool(kafkaBrokers, groups));
  const total = (rows: Row[], of: string) => rows.filter(({ group }) => group === of).reduce((sum, { lag = 0n }) => sum + lag, 0n);

  it('equals what Kafka’s own tool says: idle, 500 behind, and after one of two groups caught up', async () => {
    await produce(30);
    for (const group of groups) await catchUp(group);
    const idle = await ours();
    expect(idle).toEqual(await theirs());
    expect(groups.map((group) => total(idle, group))).toEqual([0n, 0n]);

    await produce(500);
    const behind = await ours();
    expect(behind).toEqual(await theirs());
    expect(groups.map((group) => total(behind, group))).toEqual([500n, 500n]);

    await catchUp(other);
    const half = await ours();
    expect(half).toEqual(await theirs());
    expect(groups.map((group) => total(half, group))).toEqual([500n, 0n]);
  }, 60_000);

  it('knows when the next record was produced, and asks for nothing where all is read', async () => {
    const { partitions: rows, readAtMs } = await read();
    for (const { group, nextProducedAtMs } of rows) {
      if (group === other) expect(nextProducedAtMs).toBeUndefined();
      else expect(readAtMs - Number(nextProducedAtMs)).toBeLessThan(300_000);
    }
  });

  it('says unknown for a group that never committed', async () => {
    const { partitions: rows, members } = await read([uniqueName('lag-new')]);
    expect(rows.map(({ lag }) => lag)).toEqual([undefined, undefined, undefined]);
    expect(members).toMatchObject([{ count: 0 }]);
  });

  it('counts only what is still there when the commit fell under the log start', async () => {
    const ends = await admin.topicOffsets(topic);
    const first = ends.find(({ partition }) => partition === 0)?.high ?? 0n;
    await admin.deleteRecords(topic, [{ partition: 0, before: first - 3n }]);
    await eventually('the log start to move', async () => {
      const { ends: seen } = await read();
      return seen.some(({ partition, start }) => partition === 0 && start === first - 3n);
    });
    expect((await ours()).find(({ group, partition }) => group === paused && partition === 0)).toMatchObject({ lag: 3n });
  });
});
