import { connect, type Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import kafkajs from 'kafkajs';
import Broker from 'kafkajs/src/broker/index.js';
import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js';
import { createLogger } from '#runtime';
import { eventually, testInfra, uniqueName } from '#testkit';
import { createGroupConsumer, type GroupConsumerOptions } from '../consumer/group-consumer.js';
import type { Receipt } from '../consumer/record.js';
import { createKafka } from './create-kafka.js';
import type { KafkaOptions, KafkaPort } from './ports.js';

jest.setTimeout(90_000);

const logger = createLogger('network-faults-spec', 'silent');
const opened: KafkaPort[] = [];
const stops: (() => Promise<void>)[] = [];

/** Connections that can be broken while they are in use. */
class Network {
  readonly sockets = new Set<Socket>();
  /** What the broker says is lost on the way. */
  deaf = false;
  /** Half open: they bring nothing more for as long as they are there. */
  private readonly halfOpen = new WeakSet<Socket>();
  /** Nobody listens. */
  away = false;
  /** Connections tried. */
  opens = 0;

  readonly openSocket: KafkaOptions['openSocket'] = ({ host, port, onConnect }) => {
    this.opens += 1;
    const socket = connect({ host, port: this.away ? 1 : port }, onConnect);
    const { emit } = socket;
    socket.emit = (name: string, ...args: unknown[]): boolean =>
      name === 'data' && (this.deaf || this.halfOpen.has(socket))
        ? true
        : (emit as (...all: unknown[]) => boolean).call(socket, name, ...args);
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    return socket;
  };

  /** Every connection there is stays and is silent from now on; new ones are whole. */
  halve(): void {
    for (const socket of this.sockets) this.halfOpen.add(socket);
  }

  cut(): void {
    for (const socket of this.sockets) socket.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
  }
}

function open(options: Partial<KafkaOptions> = {}): KafkaPort {
  const kafka = createKafka({ brokers: testInfra().kafkaBrokers.split(','), clientId: 'network-faults', logger, ...options });
  opened.push(kafka);
  return kafka;
}

let steady: KafkaPort;
beforeAll(() => {
  steady = open();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(stops.splice(0).map((stop) => stop()));
  await Promise.all(opened.splice(0).map((kafka) => kafka.close()));
  steady = open();
});

async function newTopic(partitions = 1): Promise<string> {
  const topic = uniqueName('faults');
  await (await steady.admin()).createTopics([{ topic, partitions, replication: 1 }]);
  return topic;
}

async function produce(topic: string, values: string[]): Promise<void> {
  await (await steady.producer()).send(values.map((value) => ({ topic, key: null, value: Buffer.from(value) })));
}

async function valuesIn(topic: string): Promise<string[]> {
  const values: string[] = [];
  const offsets = await (await steady.admin()).topicOffsets(topic);
  const written = offsets.reduce((sum, { high }) => sum + Number(high), 0);
  await consume(topic, { onReceipts: (receipts) => void values.push(...receipts.map(({ record }) => String(record.value))) });
  await eventually('the whole log', () => values.length === written);
  return values;
}

async function consume(topic: string, options: Partial<GroupConsumerOptions>) {
  const group = uniqueName('g');
  const consumer = createGroupConsumer({
    kafka: steady,
    group,
    topics: [topic],
    sessionTimeoutMs: 2_000,
    commitEveryMs: 20,
    maxWaitMs: 200,
    logger,
    onReceipts: () => undefined,
    ...options,
  });
  stops.push(() => consumer.stop(0));
  await consumer.start();
  return { consumer, group };
}

const settleAll = (receipts: readonly Receipt[]): void => {
  for (const receipt of receipts) receipt.settle();
};

describe('a producer whose network fails', () => {
  it('case 1: loses no row after a lost acknowledgement: what it gave up and what it sent next are all in the log', async () => {
    const topic = await newTopic();
    const network = new Network();
    const producer = await open({ openSocket: network.openSocket, requestTimeoutMs: 500 }).producer();
    const send = (value: string) => producer.send([{ topic, key: Buffer.from('k'), value: Buffer.from(value) }]);
    await send('e0');
    network.deaf = true;
    await expect(send('e1')).rejects.toThrow('Kafka did not answer');
    network.deaf = false;
    for (const value of ['e2', 'e1', 'e3']) await send(value);
    const log = await valuesIn(topic);
    expect(new Set(log)).toEqual(new Set(['e0', 'e1', 'e2', 'e3']));
    expect(log.filter((value) => value !== 'e1')).toEqual(['e0', 'e2', 'e3']);
  });

  it('gives up a connection that stays open and is silent, sends over another, and loses nothing', async () => {
    const topic = await newTopic();
    const network = new Network();
    const producer = await open({ openSocket: network.openSocket, requestTimeoutMs: 500 }).producer();
    const send = (value: string) => producer.send([{ topic, key: Buffer.from('k'), value: Buffer.from(value) }]);
    await send('before');
    network.halve();
    await expect(send('lost')).rejects.toThrow('Kafka did not answer');
    await eventually('a send', () =>
      send('after').then(
        () => true,
        () => false,
      ),
    );
    expect(new Set(await valuesIn(topic))).toEqual(new Set(['before', 'lost', 'after']));
  });

  it('case 14: fails fast and bounded while the broker is away, and goes on by itself when it is back', async () => {
    const topic = await newTopic();
    const network = new Network();
    const producer = await open({ openSocket: network.openSocket }).producer();
    const send = (value: string) => producer.send([{ topic, key: Buffer.from('k'), value: Buffer.from(value) }]);
    await send('before');
    network.opens = 0;
    network.away = true;
    network.cut();
    const results = await Promise.allSettled(Array.from({ length: 100 }, (_, n) => send(`lost ${n}`)));
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    expect(network.opens).toBeLessThan(20);
    network.away = false;
    await eventually('a send', () =>
      send('after').then(
        () => true,
        () => false,
      ),
    );
    expect(await valuesIn(topic)).toEqual(['before', 'after']);
  });

  it('ends in nothing that nobody can catch when all connections break in the middle of 100 sends', async () => {
    const topic = await newTopic(3);
    const network = new Network();
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    const producer = await open({ openSocket: network.openSocket }).producer();
    const sends = Array.from({ length: 100 }, (_, n) => producer.send([{ topic, key: Buffer.from(`k${n}`), value: Buffer.from(`v${n}`) }]));
    setTimeout(() => network.cut(), 5);
    const results = await Promise.allSettled(sends);
    await new Promise((resolve) => setTimeout(resolve, 200));
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
    const acknowledged = results.flatMap(({ status }, n) => (status === 'fulfilled' ? [`v${n}`] : []));
    const log = new Set(await valuesIn(topic));
    for (const value of acknowledged) expect(log.has(value)).toBe(true);
  });
});

describe('a consumer whose network fails', () => {
  it('goes on where it was after all its connections broke, and stays one member', async () => {
    const topic = await newTopic(3);
    const network = new Network();
    const seen = new Set<string>();
    const { group } = await consume(topic, {
      kafka: open({ openSocket: network.openSocket }),
      onReceipts: (receipts) => {
        for (const { record } of receipts) seen.add(String(record.value));
        settleAll(receipts);
      },
    });
    for (let round = 0; round < 4; round += 1) {
      await produce(
        topic,
        Array.from({ length: 50 }, (_, n) => `v${round * 50 + n}`),
      );
      network.cut();
    }
    // A request that was lost with its connection is given up after 30 s at the latest.
    await eventually('all records', () => seen.size === 200, { timeoutMs: 60_000 });
    const admin = await steady.admin();
    await eventually('one member', async () => (await admin.describeGroups([group]))[0]?.members.length === 1, { timeoutMs: 20_000 });
  });

  it('gives up connections that stay open and are silent, and goes on over others where it was, as one member', async () => {
    const topic = await newTopic(3);
    const network = new Network();
    const seen: string[] = [];
    const { group } = await consume(topic, {
      kafka: open({ openSocket: network.openSocket, requestTimeoutMs: 1_000 }),
      onReceipts: (receipts) => {
        seen.push(...receipts.map(({ record }) => String(record.value)));
        settleAll(receipts);
      },
    });
    const values = Array.from({ length: 100 }, (_, n) => `v${n}`);
    await produce(topic, values.slice(0, 50));
    await eventually('the first records', () => seen.length === 50);
    network.opens = 0;
    network.halve();
    await produce(topic, values.slice(50));
    await eventually('all records', () => new Set(seen).size === 100, { timeoutMs: 60_000 });
    expect(network.opens).toBeGreaterThan(0);
    const admin = await steady.admin();
    await eventually('one member', async () => (await admin.describeGroups([group]))[0]?.members.length === 1, { timeoutMs: 20_000 });
    await eventually('the commits', async () => {
      const ends = await admin.topicOffsets(topic);
      return (await admin.groupOffsets(group, [topic])).every(({ partition, offset }) => offset === ends[partition]?.high);
    });
  });

  it('is red while no broker answers, and green again with nothing lost when one does', async () => {
    const topic = await newTopic();
    const network = new Network();
    const seen = new Set<string>();
    const { consumer } = await consume(topic, {
      kafka: open({ openSocket: network.openSocket, requestTimeoutMs: 3_000 }),
      onReceipts: (receipts) => {
        for (const { record } of receipts) seen.add(String(record.value));
        settleAll(receipts);
      },
    });
    await produce(topic, ['before']);
    await eventually('the first record', () => seen.has('before'));
    network.away = true;
    network.cut();
    await produce(topic, ['meanwhile']);
    await eventually('red', async () => !(await consumer.readiness.check()).ok, { timeoutMs: 15_000 });
    network.away = false;
    await eventually('all records', () => seen.has('meanwhile'), { timeoutMs: 60_000 });
    await eventually('green', async () => (await consumer.readiness.check()).ok, { timeoutMs: 15_000 });
  });

  it.each([
    ['non-retriable', new kafkajs.KafkaJSNonRetriableError('the coordinator lookup failed for good')],
    ['retriable, again and again', new kafkajs.KafkaJSError('the coordinator moved', { retriable: true })],
  ])(
    'case 13: builds one new consumer after a %s crash',
    async (_kind, error) => {
      const topic = await newTopic();
      const seen: string[] = [];
      const { consumer, group } = await consume(topic, {
        onReceipts: (receipts) => {
          seen.push(...receipts.map(({ record }) => String(record.value)));
          settleAll(receipts);
        },
      });
      const fetch = jest.spyOn(ConsumerGroup.prototype, 'fetch').mockImplementation(() => Promise.reject(error));
      await eventually('red', async () => !(await consumer.readiness.check()).ok, { timeoutMs: 15_000 });
      fetch.mockRestore();
      await produce(topic, ['after']);
      await eventually('the record', () => seen.includes('after'), { timeoutMs: 20_000 });
      const admin = await steady.admin();
      await eventually('one member', async () => (await admin.describeGroups([group]))[0]?.members.length === 1);
      expect(await consumer.readiness.check()).toEqual({ ok: true });
    },
    45_000,
  );
});

describe('a cluster that cannot serve a group', () => {
  it('is named as such within 30 s, in the log and in readiness', async () => {
    const noCoordinator = Object.assign(new kafkajs.KafkaJSProtocolError('no coordinator'), {
      type: 'GROUP_COORDINATOR_NOT_AVAILABLE',
      retriable: true,
    });
    const lookup = jest.spyOn(Broker.prototype, 'findGroupCoordinator').mockRejectedValue(noCoordinator);
    const errors: unknown[] = [];
    const loud = { ...logger, error: (...line: unknown[]) => void errors.push(line[0]) };
    const { consumer } = await consume(await newTopic(), { logger: loud });
    expect(await consumer.readiness.check()).toMatchObject({ ok: false, detail: expect.stringContaining('no coordinator for the group') });
    expect(errors[0]).toMatchObject({ reason: expect.stringContaining('offsets.topic.replication.factor') });
    lookup.mockRestore();
    await eventually('green', async () => (await consumer.readiness.check()).ok, { timeoutMs: 20_000 });
  });
});

describe('commits', () => {
  it('always name their offsets, over joins, rebalances, a reset, a crash and a stop', async () => {
    const commit = jest.spyOn(Broker.prototype, 'offsetCommit');
    const topic = await newTopic(2);
    const admin = await steady.admin();
    const group = uniqueName('g');
    await produce(
      topic,
      Array.from({ length: 40 }, (_, n) => `v${n}`),
    );
    await admin.setGroupOffsets(group, [{ topic, partition: 0, offset: 1n }]);
    await admin.deleteRecords(topic, [{ partition: 0, before: 5n }]);
    commit.mockClear();
    const settled = new Map<number, bigint>();
    const options: Partial<GroupConsumerOptions> = {
      group,
      onReceipts: (receipts) => {
        for (const receipt of receipts) {
          const { partition, offset } = receipt.record;
          settled.set(partition, offset > (settled.get(partition) ?? -1n) ? offset : (settled.get(partition) ?? -1n));
        }
        settleAll(receipts);
      },
    };
    const first = await consume(topic, options);
    const second = await consume(topic, options);
    await produce(
      topic,
      Array.from({ length: 40 }, (_, n) => `w${n}`),
    );
    first.consumer.fail(new Error('given up'));
    await eventually('all committed', async () => {
      const ends = await admin.topicOffsets(topic);
      return (await admin.groupOffsets(group, [topic])).every(({ partition, offset }) => offset === ends[partition]?.high);
    });
    await second.consumer.stop();
    await first.consumer.stop();
    expect(commit.mock.calls.length).toBeGreaterThan(0);
    for (const [request] of commit.mock.calls) {
      expect(request.topics.length).toBeGreaterThan(0);
      for (const { partition, offset } of request.topics.flatMap(({ partitions }) => partitions)) {
        expect(BigInt(offset)).toBeGreaterThan(0n);
        expect(BigInt(offset)).toBeLessThanOrEqual((settled.get(partition) ?? -1n) + 1n);
      }
    }
  });
});
