import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createLogger, metrics } from '#runtime';
import { BrokersUnavailable, ProduceRefused } from '../kafka/errors.js';
import type { OutgoingRecord } from '../kafka/ports.js';
import { Publisher } from './publisher.js';
import type { QueuedRow } from './queued-row.js';

const logger = createLogger('publisher-spec', 'silent');
const allLanes = new Set([0, 1, 2, 3]);
const open: Publisher[] = [];
afterEach(() => {
  for (const publisher of open.splice(0)) publisher.close();
});

const row = (n: number, given: Partial<QueuedRow> = {}): QueuedRow => ({
  id: String(n),
  lane: n % 4,
  topic: 'good',
  key: Buffer.from(`key-${n % 4}`),
  value: Buffer.from(String(n)),
  headers: {},
  bytes: 100,
  ...given,
});
const rows = (count: number, given: Partial<QueuedRow> = {}): QueuedRow[] => Array.from({ length: count }, (_, n) => row(n + 1, given));

type Answer = (records: readonly OutgoingRecord[]) => Error | undefined;

/** A Kafka in memory whose answers are decided by the test; a request that fails stores nothing. */
class FakeKafka {
  readonly log: OutgoingRecord[] = [];
  readonly requests: OutgoingRecord[][] = [];
  readonly partitionsOut = new Set<string>();
  overlapped = false;
  answer: Answer = () => undefined;

  async send(records: readonly OutgoingRecord[]): Promise<void> {
    const targets = new Set(records.map(({ topic, partition }) => `${topic}/${partition}`));
    for (const target of targets) {
      this.overlapped ||= this.partitionsOut.has(target);
      this.partitionsOut.add(target);
    }
    this.requests.push([...records]);
    await new Promise((resolve) => setImmediate(resolve));
    for (const target of targets) this.partitionsOut.delete(target);
    const error = this.answer(records);
    if (error !== undefined) throw error;
    this.log.push(...records);
  }

  values(topic: string): string[] {
    return this.log.filter((record) => record.topic === topic).map(({ value }) => String(value));
  }
}

/** Refusals of the topic `good`, of a kind that only the search for it meets. */
async function refusals(): Promise<number> {
  const { values } = await metrics.relayRefusals.get();
  return values.find(({ labels }) => labels.topic === 'good' && labels.reason === 'UNKNOWN_TOPIC_OR_PARTITION')?.value ?? 0;
}

function start(kafka: FakeKafka, options: { mayPublish?: () => boolean; partitions?: (topic: string) => Promise<number> } = {}): Publisher {
  const publisher = new Publisher({
    send: (records) => kafka.send(records),
    partitions: options.partitions ?? (() => Promise.resolve(3)),
    mayPublish: options.mayPublish ?? (() => true),
    onProgress: () => undefined,
    logger,
  });
  publisher.setLanes(allLanes);
  open.push(publisher);
  return publisher;
}

async function until(what: string, condition: () => boolean): Promise<void> {
  for (const giveUpMs = performance.now() + 4_000; !condition(); ) {
    if (performance.now() > giveUpMs) throw new Error(`in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

function grouped<T, K>(items: readonly T[], key: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
}

/** Ids that the publisher says are done, in order. */
const settledIds = (publisher: Publisher): string[] => {
  const { published, parked } = publisher.takeSettled();
  publisher.forget([...published, ...parked.map((one) => one.row)]);
  return [...published.map(({ id }) => id), ...parked.map((one) => `${one.row.id} ${one.reason}`)];
};

describe('requests', () => {
  it('hold all partitions that are ready, one request per partition at a time, none above 512 KB', async () => {
    const kafka = new FakeKafka();
    const publisher = start(kafka);
    publisher.add(rows(4_000, { bytes: 4_000 }));
    await until('all records', () => kafka.log.length === 4_000);
    expect(kafka.overlapped).toBe(false);
    for (const request of kafka.requests) {
      const perPartition = grouped(request, ({ partition }) => partition);
      for (const records of perPartition.values()) expect(records.length * 4_000).toBeLessThanOrEqual(512 * 1024);
    }
    expect(kafka.requests.length).toBeLessThan(60);
  });

  it('hold a row beyond 512 KB alone', async () => {
    const kafka = new FakeKafka();
    const publisher = start(kafka);
    publisher.add([row(1, { bytes: 600_000, key: Buffer.from('k') }), row(2, { bytes: 600_000, key: Buffer.from('k') })]);
    await until('both', () => kafka.log.length === 2);
    expect(kafka.requests.map((request) => request.length)).toEqual([1, 1]);
  });

  it('are not sent while another relay may own the lanes, and rows of lanes given up are let go', async () => {
    const kafka = new FakeKafka();
    let mine = false;
    const publisher = start(kafka, { mayPublish: () => mine });
    publisher.add(rows(8));
    expect(publisher.heldRows).toBe(8);
    publisher.setLanes(new Set([1]));
    expect(publisher.heldRows).toBe(2);
    mine = true;
    publisher.pump();
    await until('the rows of lane 1', () => kafka.log.length === 2);
    expect(kafka.values('good')).toEqual(['1', '5']);
  });

  it('carry a row once, however often it is read, until it is forgotten', async () => {
    const kafka = new FakeKafka();
    const publisher = start(kafka);
    publisher.add(rows(3));
    publisher.add(rows(3));
    await until('three records', () => kafka.log.length === 3);
    publisher.add(rows(3));
    expect(settledIds(publisher).toSorted()).toEqual(['1', '2', '3']);
    expect(publisher.heldRows).toBe(0);
    expect(publisher.heldBytes).toBe(0);
    expect(kafka.log).toHaveLength(3);
  });
});

describe('a failure', () => {
  const tooLarge =
    (bad: (record: OutgoingRecord) => boolean): Answer =>
    (records) =>
      records.some(bad) ? new ProduceRefused('MESSAGE_TOO_LARGE', true) : undefined;

  it('of one record parks that record and no other', async () => {
    const kafka = new FakeKafka();
    kafka.answer = tooLarge(({ value }) => ['7', '500', '501'].includes(String(value)));
    const publisher = start(kafka);
    publisher.add(rows(1_000));
    await until('the good ones', () => kafka.log.length === 997);
    await until('all settled', () => publisher.inFlight === 0);
    const settled = settledIds(publisher);
    expect(settled.filter((id) => id.includes(' ')).toSorted()).toEqual([
      '500 MESSAGE_TOO_LARGE',
      '501 MESSAGE_TOO_LARGE',
      '7 MESSAGE_TOO_LARGE',
    ]);
    expect(settled).toHaveLength(1_000);
    expect(kafka.requests.length).toBeLessThan(100);
  });

  it('of a topic stops that topic alone, lets its rows go and keeps one batch to try with', async () => {
    const kafka = new FakeKafka();
    let denied = true;
    kafka.answer = (records) => {
      const isDenied = denied && records.some(({ topic }) => topic === 'bad');
      return isDenied ? new ProduceRefused('TOPIC_AUTHORIZATION_FAILED', false) : undefined;
    };
    const publisher = start(kafka);
    const bad = Array.from({ length: 500 }, (_, n) => row(1_001 + n, { topic: 'bad', bytes: 10_000 }));
    publisher.add([...bad, ...rows(500)]);
    await until('the good topic', () => kafka.values('good').length === 500);
    await until('a stop', () => publisher.stopped.includes('bad') && publisher.inFlight === 0);
    settledIds(publisher);
    expect(publisher.heldRows).toBeLessThan(250);
    publisher.add([row(2_000, { topic: 'bad' })]);
    expect(publisher.holds('2000')).toBe(false);

    denied = false;
    await until('a try that got through', () => publisher.reopening.includes('bad'));
    publisher.add([row(2_001, { topic: 'bad' })]);
    expect(publisher.holds('2001')).toBe(false);
    publisher.open();
    publisher.add([...bad, row(2_000, { topic: 'bad' })]);
    await until('the whole topic', () => kafka.values('bad').length === 501);
    const perKey = grouped(kafka.values('bad').map(Number), (value) => value % 4);
    for (const values of perKey.values()) expect(values).toEqual(values.toSorted((a, b) => a - b));
  });

  it('of a request with several topics blames none before each was tried alone', async () => {
    const kafka = new FakeKafka();
    let first = true;
    kafka.answer = () => {
      const error = first ? new BrokersUnavailable('once') : undefined;
      first = false;
      return error;
    };
    const publisher = start(kafka);
    publisher.add([row(1), row(2, { topic: 'other' }), row(3), row(4, { topic: 'other' })]);
    await until('all', () => kafka.log.length === 4);
    expect(publisher.stopped).toEqual([]);
  });

  it('of everything is met with few and ever rarer tries, however many rows wait', async () => {
    const kafka = new FakeKafka();
    kafka.answer = () => new BrokersUnavailable('away');
    const publisher = start(kafka);
    const startedMs = performance.now();
    publisher.add(rows(5_000));
    // One request with all partitions, each partition alone, then single tries.
    await until('four single tries', () => kafka.requests.length === 1 + 3 + 4);
    // Pauses of 250, 500, 1,000 and 2,000 ms, at least half of each.
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(1_875);
    expect(publisher.heldRows).toBeLessThan(5_000);
  });

  it('to find the topic stops it until it exists, and is counted', async () => {
    const before = await refusals();
    const kafka = new FakeKafka();
    let exists = false;
    const publisher = start(kafka, {
      partitions: () => (exists ? Promise.resolve(2) : Promise.reject(new ProduceRefused('UNKNOWN_TOPIC_OR_PARTITION', false))),
    });
    publisher.add(rows(10));
    await until('a stop', () => publisher.stopped.length === 1);
    expect(publisher.heldRows).toBe(0);
    expect(await refusals()).toBe(before + 1);
    exists = true;
    await until('the topic', () => publisher.reopening.length === 1);
    publisher.open();
    publisher.add(rows(10));
    await until('all', () => kafka.log.length === 10);
  });

  it('parks a row whose headers are no text without sending it', () => {
    const kafka = new FakeKafka();
    const publisher = start(kafka);
    publisher.add([row(1, { headers: { n: 1 } as never }), row(2, { headers: null as never }), row(3, { headers: [] as never })]);
    expect(settledIds(publisher)).toEqual(['1 INVALID_HEADERS', '2 INVALID_HEADERS', '3 INVALID_HEADERS']);
  });
});

describe('any mix of failures', () => {
  /** The loop of the relay in small: a table, cursors, and a reader that begins again when a topic reopens. */
  async function relay(table: readonly QueuedRow[], publisher: Publisher, turns: () => boolean): Promise<Set<string>> {
    const present = new Map(table.map((one) => [one.id, one]));
    const parked = new Set<string>();
    let cursor = 0;
    while (present.size > 0 && turns()) {
      const settled = publisher.takeSettled();
      for (const { row: one } of settled.parked) parked.add(one.id);
      for (const one of [...settled.published, ...settled.parked.map((each) => each.row)]) present.delete(one.id);
      publisher.forget([...settled.published, ...settled.parked.map((each) => each.row)]);
      if (publisher.reopening.length > 0) {
        cursor = 0;
        publisher.open();
      }
      if (publisher.heldRows < 60) {
        const skipped = publisher.stopped;
        const page = [...present.values()].filter(({ id }) => Number(id) > cursor).slice(0, 25);
        cursor = Number(page.at(-1)?.id ?? cursor);
        publisher.add(page.filter(({ topic }) => !skipped.includes(topic)));
      }
      publisher.pump();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect([...present.keys()]).toEqual([]);
    return parked;
  }

  it('loses nothing, keeps the order of every key, and parks exactly the bad records', async () => {
    const verdict = fc.constantFrom('fine', 'fine', 'fine', 'refused', 'silent', 'stored but silent');
    await fc.assert(
      fc.asyncProperty(
        fc.array(verdict, { maxLength: 12 }),
        fc.uniqueArray(fc.integer({ min: 1, max: 200 }), { maxLength: 4 }),
        async (verdicts, bad) => {
          const kafka = new FakeKafka();
          kafka.answer = (records) => {
            if (records.some(({ value }) => bad.includes(Number(value)))) return new ProduceRefused('INVALID_RECORD', true);
            const next = verdicts.shift() ?? 'fine';
            if (next === 'stored but silent') kafka.log.push(...records);
            if (next === 'refused') return new ProduceRefused('NOT_ENOUGH_REPLICAS', false);
            return next === 'fine' ? undefined : new BrokersUnavailable(next);
          };
          const publisher = start(kafka);
          const table = Array.from({ length: 200 }, (_, n) => row(n + 1, { topic: n % 3 === 0 ? 'other' : 'good' }));
          const giveUpMs = performance.now() + 20_000;
          const parked = await relay(table, publisher, () => performance.now() < giveUpMs);
          publisher.close();
          expect([...parked].map(Number).toSorted()).toEqual(bad.toSorted());
          const lanes = grouped(kafka.log, ({ topic, key }) => `${topic} ${String(key)}`);
          for (const records of lanes.values()) {
            const firsts = [...new Set(records.map(({ value }) => Number(value)))];
            expect(firsts).toEqual(firsts.toSorted((a, b) => a - b));
          }
          expect(new Set(kafka.log.map(({ value }) => String(value))).size).toBe(200 - bad.length);
          expect(kafka.overlapped).toBe(false);
        },
      ),
      { numRuns: 25 },
    );
  }, 60_000);
});
