import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import kafkajs, { type Consumer } from 'kafkajs';
import pg from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createLogger, type Database, migrateService, openDatabase } from '#runtime';
import { eventually, openTcpProxy, type TcpProxy, type TestDatabase, testDatabase, testInfra, uniqueName } from '#testkit';
import { createKafka } from '../kafka/create-kafka.js';
import { BrokersUnavailable } from '../kafka/errors.js';
import type { AdminPort, KafkaPort, OutgoingRecord } from '../kafka/ports.js';
import { insertOutbox, type OutboxRow, outboxDdl } from '../outbox/outbox.js';
import { createRelay, type Relay } from './relay.js';
import { read as readSql, settings } from './session-sql.js';

class CreateOutbox1764374400001 implements MigrationInterface {
  up = (runner: QueryRunner) => runner.query(outboxDdl);
  down = () => Promise.reject(new Error('not needed'));
}

interface Seen {
  partition: number;
  key: string | undefined;
  value: string | undefined;
  headers: Record<string, string>;
}

jest.setTimeout(60_000);

const logger = createLogger('relay-spec', 'silent');
const brokers = testInfra().kafkaBrokers.split(',');
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

let server: TestDatabase;
let db: Database;
let kafka: KafkaPort;
let admin: AdminPort;
let relays: Relay[] = [];
let consumers: Consumer[] = [];

beforeAll(async () => {
  kafka = createKafka({ brokers, clientId: 'relay-spec', logger });
  admin = await kafka.admin();
});
afterAll(() => kafka.close());

beforeEach(async () => {
  server = await testDatabase('relay');
  await migrateService({ url: server.url, service: 'relay-spec', migrations: [CreateOutbox1764374400001] });
  db = await openDatabase({ url: server.url, role: 'ld_relay_spec', schema: 'relay_spec', applicationName: 'relay-spec' });
});
afterEach(async () => {
  await Promise.all(relays.map((relay) => relay.stop()));
  await Promise.all(consumers.map((consumer) => consumer.disconnect()));
  relays = [];
  consumers = [];
  await db.close();
  await server.drop();
});

/** A started relay of this service, polling ten times as often as in production. */
function startRelay(through: Partial<KafkaPort> = {}): Relay {
  const relay = createRelay({ db, kafka: { ...kafka, ...through }, logger, pollMs: 100 });
  relays.push(relay);
  void relay.start();
  return relay;
}

async function newTopic(partitions = 3, config?: Record<string, string>): Promise<string> {
  const topic = uniqueName('relay');
  await admin.createTopics([{ topic, partitions, replication: 1, config }]);
  return topic;
}

/** Everything that lies on the topic, growing. */
async function watch(topic: string): Promise<Seen[]> {
  const seen: Seen[] = [];
  const client = new kafkajs.Kafka({ brokers, clientId: 'relay-spec-reader', logLevel: kafkajs.logLevel.NOTHING });
  const consumer = client.consumer({ groupId: uniqueName('relay-spec'), maxWaitTimeInMs: 50 });
  consumers.push(consumer);
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    eachMessage: ({ partition, message }) => {
      const headers = Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)]);
      seen.push({
        partition,
        key: message.key?.toString(),
        value: message.value?.toString(),
        headers: Object.fromEntries(headers) as Record<string, string>,
      });
      return Promise.resolve();
    },
  });
  return seen;
}

const row = (topic: string, key: string, value: string, headers: Record<string, string> = {}): OutboxRow => ({
  topic,
  key: Buffer.from(key),
  value: Buffer.from(value),
  headers,
});

/** `count` rows over `keys` keys; values number the rows of their key. */
const rowsOf = (topic: string, count: number, keys = 20): OutboxRow[] =>
  Array.from({ length: count }, (_, n) => row(topic, `key-${n % keys}`, String(Math.floor(n / keys))));

const waiting = async (): Promise<number> => {
  const [count] = await db.sql<{ n: string }>('count', 'SELECT count(*) AS n FROM outbox', []);
  return Number(count?.n);
};
const emptied = ({ timeoutMs = 20_000 } = {}) => eventually('an empty outbox', async () => (await waiting()) === 0, { timeoutMs });

/** First appearance of each value, per key, in log order. */
function orderPerKey(seen: readonly Seen[]): Map<string, number[]> {
  const keys = new Map<string, number[]>();
  for (const { key = '', value } of seen) {
    const values = keys.get(key) ?? [];
    if (!values.includes(Number(value))) values.push(Number(value));
    keys.set(key, values);
  }
  return keys;
}

function expectWholeAndOrdered(seen: readonly Seen[], count: number, keys = 20): void {
  const order = orderPerKey(seen);
  expect(order.size).toBe(keys);
  for (const values of order.values()) expect(values).toEqual(Array.from({ length: count / keys }, (_, n) => n));
}

/** Backends of the relay connections, apart from the service's pool. */
async function relayBackends(): Promise<number[]> {
  const found = await db.sql<{ pid: number }>(
    'pids',
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'relay-spec relay' ORDER BY pid`,
    [],
  );
  return found.map(({ pid }) => pid);
}

async function kill(pids: readonly number[]): Promise<void> {
  const owner = new pg.Client({ connectionString: server.url });
  await owner.connect();
  await owner.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [pids]);
  await owner.end();
}

/** Waits until so many relays are there and every one has its share of the lanes. */
async function joined(count: number): Promise<void> {
  await eventually(`${count} relays to share the lanes`, async () => {
    const locks = await db.sql<{ pid: number; n: string }>(
      'locks',
      `SELECT pid, count(*) AS n FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) GROUP BY pid`,
      [],
    );
    // Its own mark and at least its share of eight lanes.
    return locks.length === count && locks.every(({ n }) => Number(n) >= 1 + Math.floor(8 / count));
  });
}

describe('publishing', () => {
  it('forwards key, value and headers as they are and deletes the row once Kafka has it', async () => {
    const topic = await newTopic();
    const headers = { traceparent, tracestate: 'a=1,b=é', 'ld-event-id': 'e1' };
    const relay = startRelay();
    await insertOutbox(db, [row(topic, 'k', 'v', headers), { topic, key: null, value: null, headers: {} }]);
    relay.wake();
    const seen = await watch(topic);
    await eventually('two records', () => seen.length === 2);
    expect(seen).toContainEqual(expect.objectContaining({ key: 'k', value: 'v', headers }));
    expect(seen).toContainEqual(expect.objectContaining({ key: undefined, value: undefined, headers: {} }));
    await emptied();
  });

  it('keeps the order of every key over many batches, each row once', async () => {
    const topic = await newTopic(6);
    await insertOutbox(db, rowsOf(topic, 10_000, 50));
    startRelay();
    const seen = await watch(topic);
    await emptied();
    await eventually('all records', () => seen.length >= 10_000);
    expect(seen).toHaveLength(10_000);
    expectWholeAndOrdered(seen, 10_000, 50);
  });

  it('publishes a row that nobody announced within the poll', async () => {
    const topic = await newTopic();
    startRelay();
    await insertOutbox(db, [row(topic, 'k', 'v')]);
    await emptied();
  });

  it('case 8: publishes a low id that is committed after higher ones were read', async () => {
    const topic = await newTopic();
    const seen = await watch(topic);
    const relay = startRelay();
    await db.transaction(async (slow) => {
      await insertOutbox(slow, [row(topic, 'slow', '0')]);
      await insertOutbox(db, rowsOf(topic, 100));
      relay.wake();
      await eventually('the rows of the fast transaction', () => seen.length === 100);
      // Long enough for several looks at the table while the slow one is open.
      await insertOutbox(db, [row(topic, 'later', '0')]);
      await eventually('a still later row', () => seen.some(({ key }) => key === 'later'));
    });
    await eventually('the row of the slow transaction', () => seen.some(({ key }) => key === 'slow'));
    await emptied();
    expect(seen).toHaveLength(102);
  });

  it('leaves rows in place while the sending fails, and sends them when it works', async () => {
    const topic = await newTopic();
    let working = false;
    let failed = 0;
    const producer = await kafka.producer();
    const send = (records: readonly OutgoingRecord[]) => {
      if (working) return producer.send(records);
      failed += 1;
      return Promise.reject(new BrokersUnavailable('test'));
    };
    await insertOutbox(db, rowsOf(topic, 2_000));
    const relay = startRelay({ producer: () => Promise.resolve({ ...producer, send, close: () => Promise.resolve() }) });
    relay.wake();
    await eventually('three failed sends', () => failed >= 3);
    expect(await waiting()).toBe(2_000);
    working = true;
    const seen = await watch(topic);
    await emptied();
    await eventually('all records', () => seen.length >= 2_000);
    expectWholeAndOrdered(seen, 2_000);
  });

  it('takes its rows from one index, however many other rows there are', async () => {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    try {
      await client.query('SET search_path = relay_spec');
      await client.query(settings({ silenceMs: 0, statementTimeoutMs: 0 }));
      const literals = ["'{0,1}'", "'{0,0}'", '100', "'{}'"];
      const text = literals.reduce((sql, literal, index) => sql.replaceAll(`$${index + 1}`, literal), readSql);
      const plan = (await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`)).rows.map((line) => line['QUERY PLAN']).join('\n');
      expect(plan).toContain('Index Scan using outbox_pkey');
      expect(plan).not.toMatch(/Seq Scan|Sort/);
    } finally {
      await client.end();
    }
  });
});

describe('several relays', () => {
  /** Counts what each relay sends, through one shared producer. */
  async function countingRelays(count: number): Promise<{ sent: number[] }> {
    const producer = await kafka.producer();
    const sent = Array.from({ length: count }, () => 0);
    for (let n = 0; n < count; n += 1) {
      const send = async (records: readonly OutgoingRecord[]) => {
        await producer.send(records);
        sent[n] = (sent[n] ?? 0) + records.length;
      };
      startRelay({ producer: () => Promise.resolve({ send, close: () => Promise.resolve() }) });
    }
    await joined(count);
    return { sent };
  }

  it('each publish a real share, and no row twice', async () => {
    const topic = await newTopic(6);
    const { sent } = await countingRelays(3);
    const seen = await watch(topic);
    await insertOutbox(db, rowsOf(topic, 6_000, 200));
    await emptied();
    await eventually('all records', () => seen.length >= 6_000);
    expect(seen).toHaveLength(6_000);
    expectWholeAndOrdered(seen, 6_000, 200);
    for (const share of sent) expect(share).toBeGreaterThan(600);
  });

  it('hand lanes over without losing, doubling or mixing up rows when one comes and one goes', async () => {
    const topic = await newTopic(6);
    const seen = await watch(topic);
    await countingRelays(1);
    const insertAll = async () => {
      for (let n = 0; n < 40; n += 1) {
        const from = n * 100;
        await insertOutbox(db, rowsOf(topic, 4_000).slice(from, from + 100));
        relays[0]?.wake();
      }
    };
    const inserting = insertAll();
    await eventually('some records', () => seen.length > 300);
    startRelay();
    await joined(2);
    await inserting;
    await relays[0]?.stop();
    await insertOutbox(db, [row(topic, 'last', '0')]);
    await emptied();
    await eventually('all records', () => seen.length >= 4_001);
    expect(seen).toHaveLength(4_001);
    expectWholeAndOrdered(
      seen.filter(({ key }) => key !== 'last'),
      4_000,
    );
  });

  it('case 9: do not wait for one of them that hangs in a send, and the order of its keys survives', async () => {
    const topic = await newTopic(6);
    const producer = await kafka.producer();
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let failedOnce = false;
    const slowSend = async (records: readonly OutgoingRecord[]) => {
      await released;
      if (!failedOnce) {
        failedOnce = true;
        throw new BrokersUnavailable('test');
      }
      await producer.send(records);
    };
    const seen = await watch(topic);
    startRelay({ producer: () => Promise.resolve({ send: slowSend, close: () => Promise.resolve() }) });
    startRelay();
    await joined(2);
    await insertOutbox(db, rowsOf(topic, 1_000, 100));
    const other = await eventually('what the other relay has', async () => {
      const left = await waiting();
      return seen.length > 200 && left + seen.length === 1_000 && seen.length;
    });
    expect(other).toBeLessThan(800);
    release();
    await emptied();
    await eventually('all records', () => seen.length >= 1_000);
    expectWholeAndOrdered(seen, 1_000, 100);
  });

  it('tell each other of new rows, so that nobody waits for the poll', async () => {
    const topic = await newTopic();
    const producer = await kafka.producer();
    const slowPoll = () => {
      const port = { producer: () => Promise.resolve({ send: producer.send.bind(producer), close: () => Promise.resolve() }) };
      const relay = createRelay({ db, kafka: { ...kafka, ...port }, logger, pollMs: 2_400 });
      relays.push(relay);
      void relay.start();
      return relay;
    };
    const [first] = [slowPoll(), slowPoll()];
    await eventually('both to hold lanes', async () => (await relayBackends()).length === 2);
    await insertOutbox(db, rowsOf(topic, 400, 100));
    first.wake();
    await emptied();
  });

  it('go on when one of them loses its connection, and it comes back', async () => {
    const topic = await newTopic(6);
    await countingRelays(2);
    const seen = await watch(topic);
    for (let round = 0; round < 5; round += 1) {
      await insertOutbox(db, rowsOf(topic, 5_000).slice(round * 1_000, round * 1_000 + 1_000));
      for (const relay of relays) relay.wake();
      const backends = await eventually('both connections', async () => {
        const found = await relayBackends();
        return found.length === 2 && found;
      });
      await kill(backends.slice(round % 2, 1 + (round % 2)));
    }
    await emptied();
    await eventually('all values', () => [...orderPerKey(seen).values()].every((values) => values.length === 250));
    expectWholeAndOrdered(seen, 5_000);
  });
});

describe('what Kafka refuses', () => {
  it('case 4: a topic that does not exist stops alone, and flows in order once it does', async () => {
    const [flowing, missing] = [await newTopic(), uniqueName('relay')];
    const good = rowsOf(flowing, 3_000);
    await insertOutbox(
      db,
      rowsOf(missing, 3_000).flatMap((late, n) => [late, ...good.slice(n, n + 1)]),
    );
    startRelay();
    const seen = await watch(flowing);
    await eventually('all records of the good topic', () => seen.length === 3_000);
    await eventually('only the other rows left', async () => (await waiting()) === 3_000);
    await admin.createTopics([{ topic: missing, partitions: 3, replication: 1 }]);
    await emptied();
    const late = await watch(missing);
    await eventually('all records of the late topic', () => late.length >= 3_000);
    expectWholeAndOrdered(late, 3_000);
  });

  it('case 4: a record too large is parked alone; its neighbours go out in order', async () => {
    const topic = await newTopic(1, { 'max.message.bytes': '20000' });
    const rows = rowsOf(topic, 2_000);
    for (const at of [3, 700, 701, 1_999]) rows[at] = row(topic, 'large', 'x'.repeat(30_000 + at));
    await insertOutbox(db, rows);
    startRelay();
    const seen = await watch(topic);
    await emptied();
    await eventually('the small records', () => seen.length >= 1_996);
    const order = orderPerKey(seen);
    for (const values of order.values()) expect(values).toEqual(values.toSorted((a, b) => a - b));
    expect([...order.values()].flat()).toHaveLength(1_996);
    const parked = await db.sql<{ size: number; parked_reason: string }>(
      'parked',
      'SELECT octet_length(value) AS size, parked_reason FROM outbox_parked ORDER BY id',
      [],
    );
    expect(parked.map(({ size }) => size)).toEqual([30_003, 30_700, 30_701, 31_999]);
    expect(new Set(parked.map((one) => one.parked_reason))).toEqual(new Set(['MESSAGE_TOO_LARGE']));
  });

  it('a record that Kafka calls invalid, or whose headers are no text, is parked alone', async () => {
    const topic = await newTopic(1, { 'cleanup.policy': 'compact' });
    await insertOutbox(db, [row(topic, 'a', '0'), { topic, key: null, value: Buffer.from('no key'), headers: {} }, row(topic, 'b', '0')]);
    await db.sql('bad-headers', `INSERT INTO outbox (topic, key, value, headers) VALUES ($1, 'c', 'c', '{"n": 1}')`, [topic]);
    startRelay();
    const seen = await watch(topic);
    await emptied();
    await eventually('the two good records', () => seen.length === 2);
    const parked = await db.sql<{ parked_reason: string }>('parked', 'SELECT parked_reason FROM outbox_parked ORDER BY id', []);
    expect(parked.map((one) => one.parked_reason)).toEqual(['INVALID_RECORD', 'INVALID_HEADERS']);
  });
});

describe('when PostgreSQL is away', () => {
  it('the relay is red, comes back by itself and goes on where it was', async () => {
    const topic = await newTopic();
    const relay = startRelay();
    await eventually('contact', async () => (await relay.readiness.check()).ok);
    await insertOutbox(db, rowsOf(topic, 1_000));
    const owner = new pg.Client({ connectionString: testInfra().databaseUrl });
    await owner.connect();
    const name = pg.escapeIdentifier(new URL(server.url).pathname.slice(1));
    try {
      await owner.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
      await owner.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
        new URL(server.url).pathname.slice(1),
      ]);
      await eventually('a refused connect', async () => {
        const probe = new pg.Client({ connectionString: server.url });
        return probe.connect().then(
          () => probe.end().then(() => false),
          () => true,
        );
      });
    } finally {
      await owner.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
      await owner.end();
    }
    await emptied();
    const seen = await watch(topic);
    await eventually('all values', () => [...orderPerKey(seen).values()].flat().length === 1_000);
    expectWholeAndOrdered(seen, 1_000);
  });
});

describe('when the network keeps the connection to PostgreSQL and brings nothing any more', () => {
  let network: TcpProxy;
  let behind: Database;

  beforeEach(async () => {
    const url = new URL(server.url);
    network = await openTcpProxy({ target: { port: Number(url.port) } });
    url.port = String(network.port);
    behind = await openDatabase({ url: url.href, role: 'ld_relay_spec', schema: 'relay_spec', applicationName: 'relay-spec' });
  });
  afterEach(async () => {
    await behind.close();
    await network.close();
  });

  it('another relay takes its lanes over; it gives the connection up itself, and has its share again once the network is whole', async () => {
    const topic = await newTopic(6);
    const deaf = createRelay({ db: behind, kafka, logger, pollMs: 100, silenceMs: 6_000, statementTimeoutMs: 6_000 });
    relays.push(deaf);
    void deaf.start();
    startRelay();
    const seen = await watch(topic);
    await joined(2);
    network.blackhole();
    await insertOutbox(db, rowsOf(topic, 1_000, 200));
    // The server ends a session that says nothing, and with it the locks.
    await emptied({ timeoutMs: 40_000 });
    const { open } = network;
    await eventually('another connect', () => network.open > open, { timeoutMs: 40_000 });
    await network.heal();
    await joined(2);
    await insertOutbox(db, rowsOf(topic, 2_000, 200).slice(1_000));
    await emptied();
    await eventually('all values', () => [...orderPerKey(seen).values()].flat().length === 2_000);
    expectWholeAndOrdered(seen, 2_000, 200);
    expect(await deaf.readiness.check()).toEqual({ ok: true });
  }, 120_000);
});
