import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createLogger, type Database, migrateService, openDatabase } from '#runtime';
import { eventually, type KafkaCluster, pause, startCluster, type TestDatabase, testDatabase, testSize, uniqueName } from '#testkit';
import { createGroupConsumer, type GroupConsumer } from '../consumer/group-consumer.js';
import type { ConsumedRecord } from '../consumer/record.js';
import { insertOutbox, outboxDdl } from '../outbox/outbox.js';
import { createRelay, type Relay } from '../relay/relay.js';
import { createKafka } from './create-kafka.js';
import type { AdminPort, KafkaPort } from './ports.js';

/**
 * Relay and group consumer over three brokers of which one is killed and comes back: every topic has three replicas, and two must have what is
 * acknowledged. Rows are written all the while.
 */
const rounds = testSize() === 'long' ? 5 : 1;
const keys = 20;
/** Rows that go all the way while a broker is away, before it comes back. */
const rowsWhileAway = 400;
const offsetsPartitions = 5;
const limit = { timeoutMs: 60_000 };

jest.setTimeout(300_000);

class CreateOutbox1764374400003 implements MigrationInterface {
  up = (runner: QueryRunner) => runner.query(outboxDdl);
  down = () => Promise.reject(new Error('not needed'));
}

const logger = createLogger('cluster-spec', 'silent');
const topic = uniqueName('cluster');
const group = uniqueName('cluster');
/** What each key's records say, in the order in which they were handed on. */
const handed = new Map<string, number[]>();
let cluster: KafkaCluster;
let server: TestDatabase;
let db: Database;
let kafka: KafkaPort;
let admin: AdminPort;
let relay: Relay;
let consumer: GroupConsumer;
let written = 0;
let writing = true;
let writer: Promise<void>;

beforeAll(async () => {
  const [started, database] = await Promise.all([startCluster(3), testDatabase('cluster')]);
  [cluster, server] = [started, database];
  await migrateService({ url: server.url, service: 'cluster-spec', migrations: [CreateOutbox1764374400003] });
  db = await openDatabase({ url: server.url, role: 'ld_cluster_spec', schema: 'cluster_spec', applicationName: 'cluster-spec' });
  kafka = createKafka({ brokers: cluster.brokers, clientId: 'cluster-spec', logger });
  admin = await kafka.admin();
  await eventually('three brokers', async () => (await admin.brokerCount()) === 3, limit);
  await admin.createTopics([{ topic, partitions: 3, replication: 3, config: { 'min.insync.replicas': '2' } }]);
  relay = createRelay({ db, kafka, logger, pollMs: 100 });
  void relay.start();
  consumer = read(group, handed);
  await consumer.start();
  writer = writeRows();
}, 200_000);

afterAll(async () => {
  writing = false;
  await writer;
  await consumer?.stop(0);
  await relay?.stop();
  await kafka?.close();
  await cluster?.stop();
  await db?.close();
  await server?.drop();
}, 60_000);

/** Notes each record under its key, and settles it. */
function read(name: string, noted: Map<string, number[]>): GroupConsumer {
  const note = ({ key, value }: ConsumedRecord): void => {
    const values = noted.get(String(key)) ?? [];
    noted.set(String(key), values);
    values.push(Number(value));
  };
  return createGroupConsumer({
    kafka,
    group: name,
    topics: [topic],
    sessionTimeoutMs: 6_000,
    commitEveryMs: 50,
    maxWaitMs: 200,
    logger,
    onReceipts: (receipts) => {
      for (const receipt of receipts) {
        note(receipt.record);
        receipt.settle();
      }
    },
  });
}

/** A hundred rows or so a second; the values number the rows of their key. */
async function writeRows(): Promise<void> {
  while (writing) {
    const rows = Array.from({ length: keys }, (_, n) => ({
      topic,
      key: Buffer.from(`key-${n}`),
      value: Buffer.from(String(written / keys)),
      headers: {},
    }));
    await insertOutbox(db, rows);
    written += keys;
    relay.wake();
    await pause(150);
  }
}

const different = (noted: ReadonlyMap<string, readonly number[]>): number =>
  [...noted.values()].reduce((sum, values) => sum + new Set(values).size, 0);
const total = (noted: ReadonlyMap<string, readonly number[]>): number => [...noted.values()].reduce((sum, { length }) => sum + length, 0);

/** Rows that are written from now on go all the way. */
async function flows(): Promise<void> {
  const wanted = written + rowsWhileAway;
  await eventually('rows written from now on to be handed on', () => different(handed) >= wanted, limit);
}

async function leaderOf(name: string, partition: number): Promise<number | undefined> {
  const [described] = await admin.describeTopics([name]);
  return described?.partitions.find((one) => one.partition === partition)?.leader;
}

async function loseLeader(name: string, partition: number): Promise<void> {
  const leader = await eventually('a leader', () => leaderOf(name, partition), limit);
  const another = async (): Promise<boolean> => ![undefined, leader].includes(await leaderOf(name, partition));
  await lose(leader, () => eventually('another leader', another, limit));
}

/** Kills a node, waits until rows flow without it, and brings it back into all its replica sets. */
async function lose(node: number, gone: () => Promise<unknown> = async () => undefined): Promise<void> {
  await cluster.kill(node);
  await gone();
  await flows();
  await cluster.start(node);
  await eventually(
    'all replicas in sync',
    async () => {
      const described = await admin.describeTopics([topic, '__consumer_offsets']);
      return described.every(({ partitions }) => partitions.every(({ isr }) => isr.length === 3));
    },
    limit,
  );
}

/** The partition whose leader coordinates the group: Java's hash of its name. */
function coordinatorPartition(): number {
  const hash = [...group].reduce((sum, character) => (Math.imul(31, sum) + character.charCodeAt(0)) | 0, 0);
  return (hash & 0x7fffffff) % offsetsPartitions;
}

function expectWholeAndInOrder(noted: ReadonlyMap<string, readonly number[]>): void {
  const rows = Array.from({ length: written / keys }, (_, n) => n);
  expect(noted.size).toBe(keys);
  // First appearances: what is there twice may be repeated later.
  for (const values of noted.values()) expect([...new Set(values)]).toEqual(rows);
}

it('publishes and hands on while the leader of a partition is killed and comes back', async () => {
  await flows();
  for (let round = 0; round < rounds; round += 1) await loseLeader(topic, round % 3);
});

it('publishes and hands on while the first of the configured brokers is away', async () => {
  await lose(1);
});

it('publishes and hands on while the coordinator of the group is killed and comes back', async () => {
  for (let round = 0; round < rounds; round += 1) await loseLeader('__consumer_offsets', coordinatorPartition());
});

it('has every row on the topic in the order of its key, and every record handed on and settled', async () => {
  writing = false;
  await writer;
  await eventually('an empty outbox', async () => (await db.sql('count', 'SELECT FROM outbox', [])).length === 0, limit);
  await eventually(
    'every record to be settled',
    async () => {
      const ends = await admin.topicOffsets(topic);
      const committed = await admin.groupOffsets(group, [topic]);
      return ends.every(({ partition, high }) => committed.find((one) => one.partition === partition)?.offset === high);
    },
    limit,
  );
  expectWholeAndInOrder(handed);

  const onTopic = new Map<string, number[]>();
  const ends = await admin.topicOffsets(topic);
  const records = Number(ends.reduce((sum, { low, high }) => sum + high - low, 0n));
  const reader = read(uniqueName('cluster-reader'), onTopic);
  await reader.start();
  await eventually('the whole topic', () => total(onTopic) >= records, limit);
  await reader.stop(0);
  expectWholeAndInOrder(onTopic);
  console.log(`${written} rows: ${records} records on the topic, ${total(handed)} handed on`);
});
