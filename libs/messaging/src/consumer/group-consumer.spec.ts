import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLogger } from '#runtime';
import type { AdminPort, ConsumerEvents, KafkaPort } from '../kafka/ports.js';
import { createGroupConsumer, type GroupConsumer } from './group-consumer.js';
import type { Receipt } from './record.js';

/** Readiness of a consumer whose Kafka is made up, so that hours pass at once. */
let consumer: GroupConsumer;
let events: ConsumerEvents;
/** Next offset to be written to the one partition, as the broker says. */
let high: bigint;
let asked: number;
let got: Receipt[];
let fetching: NodeJS.Timeout;

beforeEach(async () => {
  jest.useFakeTimers();
  high = 0n;
  asked = 0;
  got = [];
  const admin = {
    offsetsOf: () => {
      asked += 1;
      return Promise.resolve([{ topic: 'leads', partition: 0, low: 0n, high }]);
    },
    groupOffsets: () => Promise.resolve([{ topic: 'leads', partition: 0, offset: 0n }]),
    close: () => Promise.resolve(),
  } as unknown as AdminPort;
  const kafka = {
    admin: () => Promise.resolve(admin),
    consumer: ({ on }: { on: ConsumerEvents }) => {
      events = on;
      return { start: () => Promise.resolve(), stop: () => Promise.resolve(), pause: () => undefined, resume: () => undefined };
    },
  } as unknown as KafkaPort;
  consumer = createGroupConsumer({
    kafka,
    group: 'idle-then-frozen',
    topics: ['leads'],
    sessionTimeoutMs: 30_000,
    logger: createLogger('group-consumer-spec', 'silent'),
    onReceipts: (receipts) => void got.push(...receipts),
  });
  await consumer.start();
  events.assigned({ leads: [0] });
  fetching = setInterval(() => events.alive(), 1_000);
});
afterEach(async () => {
  clearInterval(fetching);
  await consumer.stop(0);
  jest.useRealTimers();
});

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
const ready = async (): Promise<boolean> => (await consumer.readiness.check()).ok;
/** Fetches records as the client does, and waits for nothing. */
function fetched(...offsets: number[]): void {
  const records = offsets.map((offset) => ({ offset: String(offset), key: null, value: Buffer.from('v'), timestamp: '0' }));
  const nextOffset = Math.max(...offsets) + 1;
  high = BigInt(nextOffset);
  const done = () => Promise.resolve();
  void events.batch({ topic: 'leads', partition: 0, records, nextOffset, highWatermark: nextOffset, commit: done, heartbeat: done });
}

describe('a consumer that was idle and then froze', () => {
  it('is red at the one question 15 s after records came that nobody settles', async () => {
    await pass(3_600_000);
    fetched(0, 1);
    await pass(15_000);
    expect(got).toHaveLength(2);
    expect(await ready()).toBe(false);
  });

  it('is red at the one question 15 s after records came that are never fetched', async () => {
    await pass(3_600_000);
    high = 3n;
    await pass(15_000);
    expect(await ready()).toBe(false);
  });

  it.each(['fetched', 'in the log alone'])('is green 9 s after records came: %s', async (where) => {
    await pass(3_600_000);
    if (where === 'fetched') fetched(0);
    else high = 1n;
    await pass(9_000);
    expect(await ready()).toBe(true);
  });

  it('is green an hour after the last record was settled, and for a new one', async () => {
    fetched(0);
    await pass(100);
    for (const receipt of got) receipt.settle();
    await pass(3_600_000);
    expect(await ready()).toBe(true);
    fetched(1);
    await pass(9_000);
    expect(await ready()).toBe(true);
  });

  it('gives records that a hold kept back their time once it ends', async () => {
    fetched(0);
    await pass(5_000);
    consumer.pause('hold');
    await pass(3_600_000);
    expect(await ready()).toBe(true);
    consumer.resume('hold');
    await pass(9_000);
    expect(await ready()).toBe(true);
    await pass(6_000);
    expect(await ready()).toBe(false);
  });

  it('asks no broker while records are there that should move', async () => {
    await pass(3_600_000);
    fetched(0);
    asked = 0;
    await pass(60_000);
    expect(asked).toBe(0);
  });
});
