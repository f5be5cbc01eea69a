import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { createLogger } from '#runtime';
import { eventually, type KafkaCluster, startCluster, uniqueName } from '#testkit';
import { createGroupConsumer, type GroupConsumer } from '../consumer/group-consumer.js';
import { createKafka } from './create-kafka.js';
import type { KafkaOptions, KafkaPort } from './ports.js';

/** A broker that asks its clients for their account again every eight seconds, on each connection, and closes one that goes on without. */
const sessionMs = 8_000;
const account = { username: 'lead-delivery', password: 'a-password-of-a-test' };
/** On each connection, the first of them when it opens. */
const wantedHandshakes = 4;
const requests = { produce: 0, fetch: 1, heartbeat: 12, handshake: 17 };

jest.setTimeout(180_000);

/** How often each kind of request was written to one connection. */
type Written = Map<number, number>;

const written: Written[] = [];
const closed: Written[] = [];
const openSocket: KafkaOptions['openSocket'] = ({ host, port, onConnect }) => {
  const socket: Socket = connect({ host, port }, onConnect);
  const counts: Written = new Map();
  const write = socket.write.bind(socket) as (...all: unknown[]) => boolean;
  socket.write = (...all: unknown[]): boolean => {
    const kind = (all[0] as Buffer).readInt16BE(4);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return write(...all);
  };
  socket.on('close', () => closed.push(counts));
  written.push(counts);
  return socket;
};

const logger = createLogger('sasl-sessions-spec', 'silent');
let joins = 0;
const counting = {
  ...logger,
  info: (_fields: unknown, text: string) => {
    if (text.startsWith('Joined the consumer group')) joins += 1;
  },
} as typeof logger;

const topic = uniqueName('sasl');
const group = uniqueName('sasl');
const seen: string[] = [];
let cluster: KafkaCluster;
let kafka: KafkaPort;
let consumer: GroupConsumer;

const open = (password: string): KafkaPort =>
  createKafka({
    brokers: cluster.saslBrokers,
    clientId: 'sasl-sessions-spec',
    sasl: { mechanism: 'plain', username: account.username, password },
    logger,
    openSocket,
  });

beforeAll(async () => {
  cluster = await startCluster(1, { saslAccount: { ...account, sessionMs } });
  kafka = open(account.password);
}, 120_000);

afterAll(async () => {
  await consumer?.stop(0);
  await kafka?.close();
  await cluster?.stop();
}, 60_000);

it('lets nobody in who does not know the account', async () => {
  const stranger = open('a-wrong-password');
  await expect((await stranger.admin()).createTopics([{ topic, partitions: 1, replication: 1 }])).rejects.toThrow();
  await stranger.close();
});

it('hands every row on once, to one member that never joins again, while each connection shows its account again and again', async () => {
  await (await kafka.admin()).createTopics([{ topic, partitions: 2, replication: 1 }]);
  written.length = 0;
  closed.length = 0;
  consumer = createGroupConsumer({
    kafka,
    group,
    topics: [topic],
    sessionTimeoutMs: 30_000,
    maxWaitMs: 200,
    logger: counting,
    onReceipts: (receipts) => {
      for (const receipt of receipts) {
        seen.push(String(receipt.record.value));
        receipt.settle();
      }
    },
  });
  await consumer.start();
  const producer = await kafka.producer();
  const sent: string[] = [];
  const handshakesBeside = (kind: number): number =>
    Math.max(0, ...written.filter((counts) => counts.has(kind)).map((counts) => counts.get(requests.handshake) ?? 0));
  const work = [requests.produce, requests.fetch, requests.heartbeat];
  const longUsed = (): boolean => work.every((kind) => handshakesBeside(kind) >= wantedHandshakes);

  await eventually(
    `${wantedHandshakes} handshakes on the connections that produce, fetch and beat`,
    async () => {
      const value = `row ${sent.length}`;
      await producer.send([{ topic, key: Buffer.from(`key ${sent.length % 10}`), value: Buffer.from(value) }]);
      sent.push(value);
      return longUsed();
    },
    { everyMs: 100, timeoutMs: 120_000 },
  );
  await eventually('every row to be handed on', () => seen.length >= sent.length);
  expect([...seen].sort()).toEqual([...sent].sort());
  // Connections that only asked for metadata close when they have the answer.
  const lost = closed.filter((counts) => work.some((kind) => counts.has(kind)));
  expect({ joins, lost }).toEqual({ joins: 1, lost: [] });
  const [described] = await (await kafka.admin()).describeGroups([group]);
  expect(described?.members).toHaveLength(1);
});
