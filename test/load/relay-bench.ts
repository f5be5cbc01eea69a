import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import pg from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createKafka, createRelay, outboxDdl } from '#messaging';
import { createLogger, type Database, metrics, migrateService, openDatabase } from '#runtime';
import { eventually, startTestInfra, testDatabase, uniqueName } from '#testkit';
import { produceAlone } from './relay/producing.js';
import { headers, keys, partitions, value } from './relay/records.js';
import { median, writeReport } from './report.js';

/**
 * How fast a full outbox reaches Kafka, against the two halves of that work done alone: taking rows out of the same table as fast as we know, and
 * handing the same records to a bare kafkajs producer, in a process where nothing of it is mended. Sizes: BENCH_ROWS (default 100,000),
 * BENCH_ROUNDS (default 5).
 */
const rows = Number(process.env.BENCH_ROWS ?? 100_000);
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);

class CreateOutbox1764374400001 implements MigrationInterface {
  up = (runner: QueryRunner) => runner.query(outboxDdl);
  down = () => Promise.reject(new Error('a benchmark has no way back'));
}

interface Bench {
  brokers: string[];
  url: string;
  db: Database;
  owner: pg.Client;
}

/** Rows per second of one run that handles all of them. */
type Run = (bench: Bench, topic: string) => Promise<number>;

const logger = createLogger('relay-bench', 'warn');
const perSecond = (startedMs: number, count = rows): number => (count * 1_000) / (performance.now() - startedMs);

async function fill({ owner }: Bench, topic: string): Promise<void> {
  await insert(owner, topic, rows);
  await owner.query('VACUUM ANALYZE outbox');
}

async function insert(owner: pg.Client, topic: string, count: number): Promise<void> {
  await owner.query(
    `INSERT INTO outbox (topic, key, value, headers)
     SELECT $1, convert_to(md5((n % ${keys})::text), 'UTF8'), $2, $3::json FROM generate_series(1, ${count}) AS n`,
    [topic, value, JSON.stringify(headers)],
  );
}

async function isEmpty({ owner }: Bench): Promise<boolean> {
  return (await owner.query('SELECT FROM outbox LIMIT 1')).rowCount === 0;
}

/** One connection, one statement per batch, the batch gone with the reading, no wait for the disk. */
const drainOnly: Run = async (bench, topic) => {
  await fill(bench, topic);
  const client = new pg.Client({ connectionString: bench.url });
  await client.connect();
  await client.query('SET search_path = relay_bench; SET synchronous_commit = off; SET plan_cache_mode = force_generic_plan');
  const startedMs = performance.now();
  const text = `DELETE FROM outbox WHERE ctid = ANY (ARRAY(SELECT ctid FROM outbox ORDER BY lane, id LIMIT ${drainBatch})) RETURNING id, lane, topic, key, value, headers`;
  for (let taken = -1; taken !== 0; ) taken = (await client.query({ name: 'drain', text })).rowCount ?? 0;
  const rate = perSecond(startedMs);
  await client.end();
  return rate;
};
const drainBatch = Number(process.env.DRAIN_BATCH ?? 2_000);

const bareProducer = fork(join(import.meta.dirname, 'relay', 'bare-producer.js'), { execArgv: process.execArgv });
bareProducer.on('exit', (code) => {
  if (code) throw new Error(`the bare producer ended with ${code}`);
});

/** kafkajs as it is installed. */
const produceOnly: Run = async ({ brokers }, topic) => {
  bareProducer.send({ brokers, topic, rows });
  const [{ rate, cpuSeconds }] = (await once(bareProducer, 'message')) as [{ rate: number; cpuSeconds: number }];
  console.error(`kafkajs as it is: ${((cpuSeconds * 1e6) / rows).toFixed(1)} us of CPU per row there`);
  return rate;
};

/** The same with what the product mends in kafkajs. */
const produceMended: Run = ({ brokers }, topic) => produceAlone({ brokers, topic, rows });

const relayed: Run = async (bench, topic) => {
  await fill(bench, topic);
  const kafka = createKafka({ brokers: bench.brokers, clientId: 'relay-bench', logger });
  const relay = createRelay({ db: bench.db, kafka, logger });
  const startedMs = performance.now();
  await relay.start();
  await eventually('an empty outbox', () => isEmpty(bench), { timeoutMs: 300_000, everyMs: 10 });
  const rate = perSecond(startedMs);
  await relay.stop();
  await kafka.close();
  return rate;
};

/** Rows that this process has published. Asking the table itself would walk over all its dead rows. */
async function published(): Promise<number> {
  return (await metrics.relayPublished.get()).values.reduce((sum, { value: count }) => sum + count, 0);
}

/**
 * Rows per second over twenty fillings of an outbox whose dead rows cannot be cleaned up, because a transaction elsewhere goes on looking at the
 * table as it was. Gives the medians of the first and the last five.
 */
async function amidDeadRows(bench: Bench): Promise<{ first: number; last: number }> {
  const topic = await newTopic(bench);
  const holder = new pg.Client({ connectionString: bench.url });
  await holder.connect();
  await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM relay_bench.outbox LIMIT 1');
  const kafka = createKafka({ brokers: bench.brokers, clientId: 'relay-bench', logger });
  const relay = createRelay({ db: bench.db, kafka, logger });
  await relay.start();
  const rates: number[] = [];
  for (let filling = 0; filling < 20; filling += 1) {
    const goal = (await published()) + rows / 2;
    await insert(bench.owner, topic, rows / 2);
    const startedMs = performance.now();
    relay.wake();
    await eventually('all rows published', async () => (await published()) >= goal, { timeoutMs: 300_000, everyMs: 10 });
    rates.push(perSecond(startedMs, rows / 2));
    console.error(`filling ${filling + 1}: ${Math.round(rates.at(-1) ?? 0)} rows/s`);
  }
  await relay.stop();
  await kafka.close();
  await holder.query('ROLLBACK');
  await holder.end();
  return { first: median(rates.slice(0, 5)), last: median(rates.slice(-5)) };
}

async function newTopic({ brokers }: Bench): Promise<string> {
  const kafka = createKafka({ brokers, clientId: 'relay-bench', logger });
  const admin = await kafka.admin();
  const topic = uniqueName('relay-bench');
  await admin.createTopics([{ topic, partitions, replication: 1 }]);
  await kafka.close();
  return topic;
}

async function main(): Promise<void> {
  const infra = await startTestInfra({ progress: (line) => console.error(line) });
  const database = await testDatabase('relay_bench');
  await migrateService({ url: database.url, service: 'relay-bench', migrations: [CreateOutbox1764374400001] });
  const db = await openDatabase({ url: database.url, role: 'ld_relay_bench', schema: 'relay_bench', applicationName: 'relay-bench' });
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  await owner.query('SET search_path = relay_bench');
  const bench: Bench = { brokers: infra.kafkaBrokers.split(','), url: database.url, db, owner };
  const runs = { drainOnly, produceOnly, produceMended, relayed };
  const samples: Record<keyof typeof runs, number[]> = { drainOnly: [], produceOnly: [], produceMended: [], relayed: [] };
  const names = Object.keys(runs) as (keyof typeof runs)[];
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of names) {
      const topic = await newTopic(bench);
      const before = process.cpuUsage();
      const rate = await runs[name](bench, topic);
      const { user, system } = process.cpuUsage(before);
      const cpu = ((user + system) / rows).toFixed(1);
      console.error(`${round === 0 ? 'warm-up' : `round ${round}`}: ${name} ${Math.round(rate)} rows/s, ${cpu} us of CPU per row here`);
      if (round > 0) samples[name].push(rate);
    }
    names.push(...names.splice(0, 1));
  }
  const dead = await amidDeadRows(bench);
  await owner.end();
  await db.close();
  await database.drop();
  bareProducer.kill();
  const drain = median(samples.drainOnly);
  const produce = median(samples.produceOnly);
  const slower = drain < produce ? 'drainOnly' : 'produceOnly';
  writeReport({
    bench: 'relay',
    results: [
      {
        what: `outbox rows published, ${rows} rows of ${value.length} bytes waiting, one relay, against ${slower === 'drainOnly' ? 'draining' : 'producing'} alone`,
        unit: 'rows/s',
        ours: median(samples.relayed),
        baseline: Math.min(drain, produce),
        ratio: median(samples.relayed) / Math.min(drain, produce),
        goal: '>= 0.7',
        note: `draining alone ${Math.round(drain)}, producing alone ${Math.round(produce)} with kafkajs as it is installed and ${Math.round(median(samples.produceMended))} as the relay uses it`,
        samples: { ours: samples.relayed, baseline: samples[slower] },
      },
      {
        what: `outbox rows published after ${rows * 7.5} rows whose remains cannot be vacuumed away, against the first ${rows * 2.5}`,
        unit: 'rows/s',
        ours: dead.last,
        baseline: dead.first,
        ratio: dead.last / dead.first,
        goal: '>= 0.9',
        note: 'a transaction keeps looking at the table as it was; without one vacuum removes them',
      },
    ],
  });
}

await main();
