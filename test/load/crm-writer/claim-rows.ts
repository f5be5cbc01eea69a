import 'reflect-metadata';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { EventPattern, Payload } from '@nestjs/microservices';
import pg from 'pg';
import { type LeadAccepted, LeadAcceptedEvent } from '#contracts';
import { createClaim, deliveryDatabaseSettings, type PlannedDelivery } from '#delivery';
import { type Codec, createCodec, createKafka, type KafkaPort, MessagingStrategy, type Received } from '#messaging';
import { createLogger, type Database, migrateService, newEventId, newLeadRef, openDatabase } from '#runtime';
import { startTestInfra, testDatabase, uniqueName } from '#testkit';
import { migrations } from '../../../apps/crm-writer/src/migrations/index.js';
import { eachBatch, RecordCount } from '../each-batch.js';
import { type BenchResult, median } from '../report.js';

const partitions = 6;
const sessionTimeoutMs = 30_000;
const logger = createLogger('claim-bench', 'warn');

interface Bench {
  brokers: string[];
  kafka: KafkaPort;
  codec: Codec;
  topic: string;
  db: Database;
  owner: pg.Client;
  total: number;
}

/** Our consumer, decoding, and the engine's claim: rows of `delivery` and `operation` for every record, settled once they are committed. */
async function claimRows({ db, kafka, codec, topic, total, owner }: Bench): Promise<number> {
  await owner.query('TRUNCATE crm_writer.delivery, crm_writer.operation');
  const count = new RecordCount(total);
  const claim = createClaim<LeadAccepted>({ db, logger, leaseMs: 30_000 });
  const handle = async (received: Received<LeadAccepted>): Promise<void> => {
    if (!received.result.ok) throw new Error('a record of the benchmark is unreadable');
    const { event } = received.result;
    if ((await claim(received, event, plan(event))) !== 'claimed') throw new Error('a record of the benchmark was claimed before');
    received.receipt.settle();
    count.add(1);
  };
  @Controller()
  class EventsController {
    @EventPattern<string>('lead.accepted')
    onEvents(@Payload() received: Received<LeadAccepted>[]): void {
      for (const one of received) void handle(one);
    }
  }
  @Module({ controllers: [EventsController] })
  class BenchModule {}

  const subscription = { group: uniqueName('bench'), pattern: 'lead.accepted', topics: [topic], event: LeadAcceptedEvent };
  const strategy = new MessagingStrategy({ kafka, codec, subscriptions: [subscription], sessionTimeoutMs, logger });
  const app = await NestFactory.createMicroservice(BenchModule, { logger: false, strategy });
  await app.listen();
  const rate = await count.rate;
  await app.close();
  return rate;
}

const plan = (event: LeadAccepted): PlannedDelivery => ({
  eventId: event.event_id,
  destination: 'bench',
  leadRef: event.lead_ref,
  submittedAt: event.submitted_at,
  deadlineAt: event.deadline_at,
  operations: [{ kind: 'lead', operationKey: `${event.event_id}:bench:lead` }],
  needsVault: false,
  test: false,
  attempts: 4,
});

async function fill({ kafka, topic, codec, total }: Bench): Promise<void> {
  const admin = await kafka.admin();
  await admin.createTopics([{ topic, partitions, replication: 1 }]);
  await admin.close();
  const producer = await kafka.producer();
  const now = new Date();
  const lead = (): LeadAccepted => ({
    event_id: newEventId(),
    event_type: 'lead.accepted',
    version: 1,
    lead_ref: newLeadRef(),
    organization: 'demo',
    source: 'website',
    source_event_ref: 'v1:'.padEnd(67, '0'),
    form: 'contact',
    campaign: 'autumn',
    submitted_at: now,
    accepted_at: now,
    deadline_at: new Date(now.getTime() + 4 * 3_600_000),
    policy: 'default'.padEnd(100, '.'),
    payload_hmac: 'v1:'.padEnd(67, '0'),
    consent: true,
    test: false,
    destinations: ['bench'],
  });
  for (let from = 0; from < total; from += 2_000) {
    const size = Math.min(2_000, total - from);
    await producer.send(
      Array.from({ length: size }, (_, n) => ({
        topic,
        key: Buffer.from(`key-${(from + n) % 5_000}`.padEnd(32, '0')),
        value: codec.encode(LeadAcceptedEvent, lead()),
      })),
    );
  }
  await producer.close();
}

/** The consumer with claim rows against kafkajs' eachBatch, interleaved. */
export async function claimRowsBench(total: number, rounds: number): Promise<BenchResult> {
  const infra = await startTestInfra({ progress: (line) => console.error(line) });
  const brokers = infra.kafkaBrokers.split(',');
  const kafka = createKafka({ brokers, clientId: 'bench', logger });
  const { subject, schemaVersion: version, schema } = LeadAcceptedEvent;
  const codec = createCodec({ known: [{ subject, version, schema, id: 1 }] });
  const database = await testDatabase('claim_bench');
  await migrateService({ url: database.url, service: 'crm-writer', migrations });
  const settings = { role: 'ld_crm_writer', schema: 'crm_writer', settings: deliveryDatabaseSettings };
  const db = await openDatabase({ url: database.url, applicationName: 'bench', ...settings });
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  const bench: Bench = { brokers, kafka, codec, topic: uniqueName('claim-bench'), db, owner, total };
  await fill(bench);
  const samples = { ours: [] as number[], baseline: [] as number[] };
  for (let round = 0; round <= rounds; round += 1) {
    const [baseline, ours] = [await eachBatch({ ...bench, partitions }), await claimRows(bench)];
    console.error(
      `${round === 0 ? 'warm-up' : `round ${round}`}: eachBatch ${Math.round(baseline)}, with claim rows ${Math.round(ours)} records/s`,
    );
    if (round === 0) continue;
    samples.baseline.push(baseline);
    samples.ours.push(ours);
  }
  const admin = await kafka.admin();
  await admin.deleteTopics([bench.topic]);
  await admin.close();
  await owner.end();
  await db.close();
  await kafka.close();
  await database.drop();
  return {
    what: `consumer that decodes and claims rows for every record, ${total} records of about 512 bytes, against kafkajs eachBatch no-op`,
    unit: 'records/s',
    ours: median(samples.ours),
    baseline: median(samples.baseline),
    ratio: median(samples.ours) / median(samples.baseline),
    goal: '>= 0.3',
    note: 'two rows per record, `delivery` with the event and `operation`, with their indexes',
    samples,
  };
}
