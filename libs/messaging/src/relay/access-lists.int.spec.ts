import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import kafkajs, { type AclEntry, type Admin } from 'kafkajs';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createLogger, type Database, metrics, migrateService, openDatabase } from '#runtime';
import { eventually, type KafkaCluster, startCluster, type TestDatabase, testDatabase, uniqueName } from '#testkit';
import { createKafka } from '../kafka/create-kafka.js';
import type { KafkaPort } from '../kafka/ports.js';
import { insertOutbox, outboxDdl } from '../outbox/outbox.js';
import { createRelay, type Relay } from './relay.js';

/** A broker that refuses us one topic by its access control lists, while the others are ours. */
jest.setTimeout(120_000);

class CreateOutbox1764374400004 implements MigrationInterface {
  up = (runner: QueryRunner) => runner.query(outboxDdl);
  down = () => Promise.reject(new Error('not needed'));
}

const logger = createLogger('access-lists-spec', 'silent');
const topicNames = { retries: uniqueName('retry'), unwritable: uniqueName('dlq'), unseen: uniqueName('dlq') };
const count = 200;
let cluster: KafkaCluster;
let server: TestDatabase;
let db: Database;
let kafka: KafkaPort;
let broker: Admin;
let relay: Relay;

/** Once a list speaks of a topic, nobody may do there what none allows. */
const allow = (topic: string, operation: 'READ' | 'WRITE', principal = 'User:ANONYMOUS'): AclEntry => ({
  resourceType: kafkajs.AclResourceTypes.TOPIC,
  resourceName: topic,
  resourcePatternType: kafkajs.ResourcePatternTypes.LITERAL,
  principal,
  host: '*',
  operation: kafkajs.AclOperationTypes[operation],
  permissionType: kafkajs.AclPermissionTypes.ALLOW,
});

beforeAll(async () => {
  [cluster, server] = await Promise.all([startCluster(1, { accessLists: true }), testDatabase('access-lists')]);
  await migrateService({ url: server.url, service: 'access-lists-spec', migrations: [CreateOutbox1764374400004] });
  const role = { role: 'ld_access_lists_spec', schema: 'access_lists_spec', applicationName: 'access-lists-spec' };
  db = await openDatabase({ url: server.url, ...role });
  kafka = createKafka({ brokers: cluster.brokers, clientId: 'access-lists-spec', logger });
  broker = new kafkajs.Kafka({ brokers: [...cluster.brokers], clientId: 'access-lists-admin', logLevel: kafkajs.logLevel.NOTHING }).admin();
  await broker.connect();
  const admin = await kafka.admin();
  await admin.createTopics(Object.values(topicNames).map((topic) => ({ topic, partitions: 1, replication: 1 })));
  relay = createRelay({ db, kafka, logger, pollMs: 100 });
  void relay.start();
}, 120_000);

afterAll(async () => {
  await relay?.stop();
  await broker?.disconnect();
  await kafka?.close();
  await cluster?.stop();
  await db?.close();
  await server?.drop();
}, 60_000);

const waiting = async (topic: string): Promise<number> => {
  const [row] = await db.sql<{ n: string }>('count', 'SELECT count(*) AS n FROM outbox WHERE topic = $1', [topic]);
  return Number(row?.n);
};
const written = async (topic: string): Promise<number> => Number((await broker.fetchTopicOffsets(topic))[0]?.high);
const parked = async (): Promise<number> => (await db.sql('parked', 'SELECT id FROM outbox_parked', [])).length;

async function stopped(topic: string): Promise<number | undefined> {
  const { values } = await metrics.relayStopped.get();
  return values.find(({ labels }) => labels.topic === topic)?.value;
}
async function refusals(topic: string): Promise<string[]> {
  const { values } = await metrics.relayRefusals.get();
  return values.flatMap(({ labels }) => (labels.topic === topic ? [String(labels.reason)] : []));
}

it.each([
  ['written', topicNames.unwritable, allow(topicNames.unwritable, 'READ'), ['TOPIC_AUTHORIZATION_FAILED']],
  // Already the question about its partitions is refused, so no request to write is made.
  ['seen', topicNames.unseen, allow(topicNames.unseen, 'READ', 'User:somebody-else'), ['UNKNOWN_TOPIC_OR_PARTITION']],
])(
  'case 4: dead letters whose topic may not be %s wait with an alarm, alone, and are published once it may',
  async (_what, dlq, list, reasons) => {
    const { retries } = topicNames;
    await broker.createAcls({ acl: [list] });
    const before = await written(retries);
    const row = (topic: string, n: number) => ({ topic, key: Buffer.from('one lead'), value: Buffer.from(String(n)), headers: {} });
    const rows = Array.from({ length: count }, (_, n) => [row(dlq, n), row(retries, n)]);
    await insertOutbox(db, rows.flat());
    relay.wake();

    await eventually('the alarm', async () => (await stopped(dlq)) === 1);
    await eventually('the other topic to be served', async () => (await waiting(retries)) === 0);
    expect(await refusals(dlq)).toEqual(reasons);
    expect([await waiting(dlq), await parked()]).toEqual([count, 0]);
    expect(await stopped(retries)).not.toBe(1);

    await broker.createAcls({ acl: [allow(dlq, 'READ'), allow(dlq, 'WRITE')] });
    await eventually('all of them published', async () => (await waiting(dlq)) === 0, { timeoutMs: 30_000 });
    expect(await stopped(dlq)).toBe(0);
    // What was refused left nothing behind, and nobody else's rows were sent again for it.
    expect([await written(dlq), (await written(retries)) - before, await parked()]).toEqual([count, count, 0]);
  },
);
