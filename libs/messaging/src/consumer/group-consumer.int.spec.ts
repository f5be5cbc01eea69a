import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { headers } from '#contracts';
import { createLogger } from '#runtime';
import { eventually, testInfra, testSize, uniqueName } from '#testkit';
import { createKafka } from '../kafka/create-kafka.js';
import type { AdminPort, KafkaPort, OutgoingRecord, ProducerPort } from '../kafka/ports.js';
import { createGroupConsumer, type GroupConsumer, type GroupConsumerOptions } from './group-consumer.js';
import type { Receipt } from './record.js';

jest.setTimeout(90_000);

const logger = createLogger('group-consumer-spec', 'silent');
let kafka: KafkaPort;
let admin: AdminPort;
let producer: ProducerPort;
const consumers: GroupConsumer[] = [];

beforeAll(async () => {
  kafka = createKafka({ brokers: testInfra().kafkaBrokers.split(','), clientId: 'group-consumer-spec', logger });
  admin = await kafka.admin();
  producer = await kafka.producer();
});
afterEach(async () => {
  await Promise.all(consumers.splice(0).map((consumer) => consumer.stop(0)));
});
afterAll(() => kafka.close());

async function newTopic(partitions = 1, name = 'group'): Promise<string> {
  const topic = uniqueName(name);
  await admin.createTopics([{ topic, partitions, replication: 1 }]);
  return topic;
}

async function produce(topic: string, count: number, from = 0, extra: Partial<OutgoingRecord> = {}): Promise<void> {
  await producer.send(
    Array.from({ length: count }, (_, n) => ({ topic, key: Buffer.from(`k${from + n}`), value: Buffer.from(`v${from + n}`), ...extra })),
  );
}

function member(options: Partial<GroupConsumerOptions> & { group: string; topics: string[] }): { consumer: GroupConsumer; got: Receipt[] } {
  const got: Receipt[] = [];
  const consumer = createGroupConsumer({
    kafka,
    // A member that a busy machine holds up for some seconds keeps its place; what is read twice is no fault, and would fail every count.
    sessionTimeoutMs: 30_000,
    commitEveryMs: 20,
    maxWaitMs: 200,
    logger,
    onReceipts: (receipts) => void got.push(...receipts),
    ...options,
  });
  consumers.push(consumer);
  return { consumer, got };
}

const committed = async (group: string, topic: string): Promise<bigint | undefined> =>
  (await admin.groupOffsets(group, [topic])).find(({ partition }) => partition === 0)?.offset;
const text = ({ record }: Receipt): string => String(record.value);

const settleAll = (receipts: readonly Receipt[]): void => {
  for (const receipt of receipts) receipt.settle();
};

describe('group consumer', () => {
  it('commits up to the first unsettled record and no further', async () => {
    const [topic, group] = [await newTopic(), uniqueName('g')];
    await produce(topic, 10);
    const { consumer, got } = member({ group, topics: [topic] });
    await consumer.start();
    await eventually('ten records', () => got.length === 10);
    for (const receipt of got) if (receipt.record.offset !== 4n) receipt.settle();
    await eventually('the commit', async () => (await committed(group, topic)) === 4n);
    got[4]?.settle();
    got[4]?.settle();
    await eventually('the rest', async () => (await committed(group, topic)) === 10n);
  });

  it('begins at the earliest record when the group has no offset, and hands an unsettled record out again after a restart', async () => {
    const [topic, group] = [await newTopic(), uniqueName('g')];
    await produce(topic, 3);
    const first = member({ group, topics: [topic] });
    await first.consumer.start();
    await eventually('three records', () => first.got.length === 3);
    first.got[0]?.settle();
    await first.consumer.stop(0);
    expect(first.got.every(({ stale }) => stale)).toBe(true);
    const second = member({ group, topics: [topic] });
    await second.consumer.start();
    await eventually('the unsettled ones', () => second.got.length === 2);
    expect(second.got.map(text)).toEqual(['v1', 'v2']);
  });

  it('gives every record of six partitions to one of three members, in order, over joins and leaves, and commits never go back', async () => {
    const [topic, group] = [await newTopic(6), uniqueName('g')];
    const seen = new Map<string, string[]>();
    const options: Partial<GroupConsumerOptions> = {
      onReceipts: (receipts) => {
        for (const receipt of receipts) {
          setTimeout(() => {
            if (receipt.stale) return;
            const place = `${receipt.record.partition}`;
            seen.set(place, [...(seen.get(place) ?? []), text(receipt)]);
            receipt.settle();
          }, 5);
        }
      },
      maxUnsettled: 40,
    };
    const offsets: bigint[][] = [];
    let watching = true;
    const watch = (async () => {
      while (watching) offsets.push((await admin.groupOffsets(group, [topic])).map(({ offset }) => offset ?? 0n));
    })();
    watch.catch(() => undefined);
    const first = member({ ...options, group, topics: [topic] });
    await first.consumer.start();
    for (let round = 0; round < 6; round += 1) {
      await produce(topic, 200, round * 200);
      if (round === 1) await member({ ...options, group, topics: [topic] }).consumer.start();
      if (round === 2) await member({ ...options, group, topics: [topic] }).consumer.start();
      if (round === 4) await first.consumer.stop();
    }
    await eventually('all committed', async () => {
      const ends = await admin.topicOffsets(topic);
      const own = await admin.groupOffsets(group, [topic]);
      return ends.every(({ partition, high }) => own.find((offset) => offset.partition === partition)?.offset === high);
    });
    watching = false;
    await watch;
    expect(new Set([...seen.values()].flat()).size).toBe(1_200);
    for (let at = 1; at < offsets.length; at += 1) {
      for (const [partition, offset] of (offsets[at] ?? []).entries())
        expect(offset).toBeGreaterThanOrEqual(offsets[at - 1]?.[partition] ?? 0n);
    }
  });

  it('never has more records out than its window allows, however much is fetched', async () => {
    const [topic, group] = [await newTopic(3), uniqueName('g')];
    await produce(topic, 900);
    const out = new Set<Receipt>();
    const seen = new Set<string>();
    let most = 0;
    const { consumer } = member({
      group,
      topics: [topic],
      maxUnsettled: 50,
      onReceipts: (receipts) => {
        for (const receipt of out) if (receipt.stale) out.delete(receipt);
        for (const receipt of receipts) {
          out.add(receipt);
          seen.add(text(receipt));
          setTimeout(() => {
            out.delete(receipt);
            receipt.settle();
          }, 2);
        }
        most = Math.max(most, out.size);
      },
    });
    await consumer.start();
    await eventually('all records', () => seen.size === 900);
    expect(most).toBeLessThanOrEqual(50);
  });

  it('stays in its group while a full window does not move for longer than the session', async () => {
    const [topic, group] = [await newTopic(), uniqueName('g')];
    await produce(topic, 100);
    const { consumer, got } = member({ group, topics: [topic], maxUnsettled: 10, sessionTimeoutMs: 1_500 });
    await consumer.start();
    await eventually('ten records', () => got.length === 10);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(got).toHaveLength(10);
    expect(got.some(({ stale }) => stale)).toBe(false);
    const settling = setInterval(() => settleAll(got), 10);
    await eventually('the rest', async () => (await committed(group, topic)) === 100n);
    clearInterval(settling);
    expect(got.map(text)).toEqual(Array.from({ length: 100 }, (_, n) => `v${n}`));
  });

  it('pauses by reason and resumes with what it had, longer than a session', async () => {
    const [topic, group] = [await newTopic(2), uniqueName('g')];
    const { consumer, got } = member({ group, topics: [topic], sessionTimeoutMs: 1_500 });
    await consumer.start();
    consumer.pause('vault');
    consumer.pause('destination', [topic]);
    await produce(topic, 5);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    consumer.resume('vault');
    expect(consumer.paused()).toEqual(['destination']);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(got).toHaveLength(0);
    consumer.resume('destination');
    await eventually('five records', () => got.length === 5);
  });

  it('stays paused through a rebalance and a rebuilt consumer', async () => {
    const [topic, group] = [await newTopic(2), uniqueName('g')];
    const { consumer, got } = member({ group, topics: [topic] });
    await consumer.start();
    consumer.pause('hold');
    const other = member({ group, topics: [topic] });
    await other.consumer.start();
    await other.consumer.stop();
    await produce(topic, 20);
    consumer.fail(new Error('given up by its user'));
    await eventually('a new member', async () => (await consumer.readiness.check()).ok, { timeoutMs: 20_000 });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(got).toHaveLength(0);
    consumer.resume('hold');
    await eventually('all records', () => new Set(got.map(text)).size === 20);
  });

  it('reads on from the start of the log where retention has removed the next record, and says how many are gone', async () => {
    const [topic, group] = [await newTopic(), uniqueName('g')];
    await produce(topic, 20);
    await admin.setGroupOffsets(group, [{ topic, partition: 0, offset: 10n }]);
    await admin.deleteRecords(topic, [{ partition: 0, before: 20n }]);
    const errors: unknown[] = [];
    const { consumer, got } = member({
      group,
      topics: [topic],
      logger: { ...logger, error: (...line: unknown[]) => void errors.push(line[0]) },
    });
    await consumer.start();
    await produce(topic, 1, 20);
    await eventually('the next record', () => got.length === 1);
    expect(text(got[0] as Receipt)).toBe('v20');
    expect(errors).toContainEqual(expect.objectContaining({ group, topic, partition: 0, offset: 20n, count: 10n }));
    expect(await committed(group, topic)).toBe(10n);
    got[0]?.settle();
    await eventually('the commit', async () => (await committed(group, topic)) === 21n);
  });

  it('hands tier records on when due, never early, whatever order they lie in, and garbage at once', async () => {
    const [topic, group] = [await newTopic(1, 'x.retry.15s'), uniqueName('g')];
    const arrivals = new Map<string, number>();
    const { consumer } = member({
      group,
      topics: [topic],
      tierTopics: [topic],
      onReceipts: (receipts) => {
        for (const receipt of receipts) {
          arrivals.set(text(receipt), Date.now());
          receipt.settle();
        }
      },
    });
    await consumer.start();
    const start = Date.now();
    const delays = [1_500, 300, 900, 0, 600];
    const record = (value: string, notBefore: string) => ({
      topic,
      key: null,
      value: Buffer.from(value),
      headers: { [headers.notBefore]: notBefore },
    });
    await producer.send([...delays.map((delay) => record(String(delay), String(start + delay))), record('garbage', 'soon')]);
    await eventually('all handed on', () => arrivals.size === 6);
    for (const delay of delays) expect(arrivals.get(String(delay))).toBeGreaterThanOrEqual(start + delay);
    expect([...arrivals.keys()].filter((value) => value !== 'garbage' && value !== '0')).toEqual(['300', '600', '900', '1500']);
    await eventually('the commit', async () => (await committed(group, topic)) === 6n);
  });

  describe('the due times of a tier', () => {
    const waitMs = testSize() === 'long' ? 30_000 : 4_000;

    /** Two members and records that wait, with what they hand on; both have joined long before anything is due. */
    async function waiting() {
      const [topic, group] = [await newTopic(2, 'x.retry.1m'), uniqueName('g')];
      const due = Date.now() + waitMs;
      const later = { headers: { [headers.notBefore]: String(due) } };
      await produce(topic, 4, 0, { ...later, partition: 0 });
      await produce(topic, 4, 4, { ...later, partition: 1 });
      const arrivals: { at: number; value: string }[] = [];
      const options = {
        ...{ group, topics: [topic], tierTopics: [topic] },
        onReceipts: (receipts: Receipt[]) => {
          for (const receipt of receipts) arrivals.push({ at: Date.now(), value: text(receipt) });
          settleAll(receipts);
        },
      };
      const first = member(options);
      await first.consumer.start();
      const second = member(options);
      await second.consumer.start();
      const handedOn = (values: number) =>
        eventually('all handed on', () => new Set(arrivals.map((arrival) => arrival.value)).size === values, {
          timeoutMs: waitMs + 20_000,
        });
      const allCommitted = (offset: bigint) =>
        eventually('the commits', async () => (await admin.groupOffsets(group, [topic])).every((own) => own.offset === offset));
      return { topic, due, first: first.consumer, second: second.consumer, arrivals, handedOn, allCommitted };
    }

    it('case 6: are kept through a join, a leave and a crash before them: never early, none lost', async () => {
      const { due, first, second, arrivals, handedOn, allCommitted } = await waiting();
      await second.stop();
      first.fail(new Error('given up'));
      await handedOn(8);
      for (const { at } of arrivals) expect(at).toBeGreaterThanOrEqual(due);
      await allCommitted(4n);
      expect(arrivals).toHaveLength(8);
    });

    it('case 6: are kept by both members; who leaves and who crashes after them hands nothing out again', async () => {
      const { topic, due, first, second, arrivals, handedOn, allCommitted } = await waiting();
      await handedOn(8);
      await second.stop();
      first.fail(new Error('given up'));
      for (const { at } of arrivals) expect(at).toBeGreaterThanOrEqual(due);
      const now = { headers: { [headers.notBefore]: String(Date.now()) } };
      for (const partition of [0, 1]) await produce(topic, 1, 8 + partition, { ...now, partition });
      await handedOn(10);
      await allCommitted(5n);
      expect(arrivals).toHaveLength(10);
    });
  });

  it('hands a record out again after the delay its user asked for', async () => {
    const [topic, group] = [await newTopic(), uniqueName('g')];
    await produce(topic, 2);
    const { consumer, got } = member({ group, topics: [topic] });
    await consumer.start();
    await eventually('two records', () => got.length === 2);
    const askedAt = Date.now();
    got[0]?.redeliverIn(300);
    got[1]?.settle();
    await eventually('the record again', () => got.length === 3);
    expect(Date.now() - askedAt).toBeGreaterThanOrEqual(300);
    expect(text(got[2] as Receipt)).toBe('v0');
    expect((await committed(group, topic)) ?? 0n).toBe(0n);
    got[2]?.settle();
    await eventually('the commit', async () => (await committed(group, topic)) === 2n);
  });

  it('starts again from the committed offset when a handler throws, and says so', async () => {
    const [topic, group] = [await newTopic(), uniqueName('g')];
    await produce(topic, 3);
    let calls = 0;
    const got: Receipt[] = [];
    const { consumer } = member({
      group,
      topics: [topic],
      onReceipts: (receipts) => {
        calls += 1;
        if (calls === 1) throw new Error('a bug');
        got.push(...receipts);
      },
    });
    await consumer.start();
    await eventually('red', async () => !(await consumer.readiness.check()).ok);
    await eventually('all records', () => got.length === 3, { timeoutMs: 20_000 });
    expect(await consumer.readiness.check()).toEqual({ ok: true });
  });

  it('waits for work in hand when it stops, commits it and leaves', async () => {
    const [topic, group] = [await newTopic(), uniqueName('g')];
    await produce(topic, 4);
    const { consumer, got } = member({ group, topics: [topic] });
    await consumer.start();
    await eventually('four records', () => got.length === 4);
    const stopped = consumer.stop();
    setTimeout(() => settleAll(got), 300);
    await stopped;
    expect(await committed(group, topic)).toBe(4n);
    expect(await admin.describeGroups([group])).toMatchObject([{ state: 'Empty', members: [] }]);
  });

  it('reads new partitions of its topic', async () => {
    const [topic, group] = [await newTopic(1), uniqueName('g')];
    const { consumer, got } = member({ group, topics: [topic], metadataMaxAgeMs: 500 });
    await consumer.start();
    await admin.addPartitions([{ topic, partitions: 2 }]);
    await admin.waitForLeaders([topic]);
    const late = createKafka({ brokers: testInfra().kafkaBrokers.split(','), clientId: 'late', logger });
    await (await late.producer()).send([{ topic, key: null, value: Buffer.from('new'), partition: 1 }]);
    await late.close();
    await eventually('the record', () => got.length === 1, { timeoutMs: 10_000 });
  });
});
