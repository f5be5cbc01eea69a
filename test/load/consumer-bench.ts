import 'reflect-metadata';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { EventPattern, Payload, Transport } from '@nestjs/microservices';
import kafkajs from 'kafkajs';
import { type LeadAccepted, LeadAcceptedEvent } from '#contracts';
import { createCodec, createGroupConsumer, createKafka, type KafkaPort, MessagingStrategy, type Received } from '#messaging';
import { createLogger } from '#runtime';
import { startTestInfra, uniqueName } from '#testkit';
import { eachBatch, RecordCount } from './each-batch.js';
import { type BenchResult, median, writeReport } from './report.js';

/**
 * How fast records are consumed when nothing is done with them: our group consumer (own watermark, receipts, explicit commits) against
 * kafkajs' eachBatch, and our Nest transport, which also decodes every event, against Nest's own. Sizes: BENCH_RECORDS (default 300,000),
 * BENCH_ROUNDS (default 5).
 */
const total = Number(process.env.BENCH_RECORDS ?? 300_000);
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const partitions = 6;
const valueBytes = 512;
const sessionTimeoutMs = 30_000;
const logger = createLogger('consumer-bench', 'warn');

interface Bench {
  brokers: string[];
  kafka: KafkaPort;
  topic: string;
  codec: ReturnType<typeof createCodec>;
}

/** Records per second between the first and the last record of the topic, in a group of its own. */
type Run = (bench: Bench) => Promise<number>;

const baseline: Run = ({ brokers, topic }) => eachBatch({ brokers, topic, total, partitions });

const ours: Run = async ({ kafka, topic }) => {
  const count = new RecordCount(total);
  const consumer = createGroupConsumer({
    kafka,
    group: uniqueName('bench'),
    topics: [topic],
    sessionTimeoutMs,
    logger,
    onReceipts: (receipts) => {
      for (const receipt of receipts) receipt.settle();
      count.add(receipts.length);
    },
  });
  await consumer.start();
  const rate = await count.rate;
  await consumer.stop();
  return rate;
};

const stockNest: Run = async ({ brokers, topic }) => {
  const count = new RecordCount(total);
  @Controller()
  class EventsController {
    @EventPattern<string>(topic)
    onEvent(): void {
      count.add(1);
    }
  }
  @Module({ controllers: [EventsController] })
  class BenchModule {}

  const app = await NestFactory.createMicroservice(BenchModule, {
    logger: false,
    transport: Transport.KAFKA,
    options: {
      client: { brokers, clientId: 'bench', logLevel: kafkajs.logLevel.NOTHING },
      consumer: { groupId: uniqueName('bench'), maxWaitTimeInMs: 1_000 },
      subscribe: { fromBeginning: true },
      run: { partitionsConsumedConcurrently: partitions, autoCommitInterval: 200 },
    },
  });
  await app.listen();
  const rate = await count.rate;
  await app.close();
  return rate;
};

const ourNest: Run = async ({ kafka, topic, codec }) => {
  const count = new RecordCount(total);
  @Controller()
  class EventsController {
    @EventPattern<string>('lead.accepted')
    onEvents(@Payload() received: Received<LeadAccepted>[]): void {
      for (const { receipt, result } of received) if (result.ok) receipt.settle();
      count.add(received.length);
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
};

function leadAccepted(n: number): LeadAccepted {
  const at = new Date();
  return {
    event_id: `01890a5d-ac96-774b-bcce-${String(n).padStart(12, '0')}`,
    event_type: 'lead.accepted',
    version: 1,
    lead_ref: 'L-ABCDEFGHIJKLMNOP',
    organization: 'demo',
    source: 'website',
    source_event_ref: 'v1:'.padEnd(67, '0'),
    form: 'contact',
    campaign: 'autumn',
    submitted_at: at,
    accepted_at: at,
    deadline_at: at,
    policy: 'default',
    payload_hmac: 'v1:'.padEnd(67, '0'),
    consent: true,
    test: false,
    destinations: ['sandbox-crm', 'sandbox-marketing'],
  };
}

async function fill({ kafka, topic, codec }: Bench): Promise<void> {
  const admin = await kafka.admin();
  await admin.createTopics([{ topic, partitions, replication: 1 }]);
  const producer = await kafka.producer();
  const spare = valueBytes - codec.encode(LeadAcceptedEvent, leadAccepted(0)).length;
  const batch = 2_000;
  for (let from = 0; from < total; from += batch) {
    const records = Array.from({ length: Math.min(batch, total - from) }, (_, n) => {
      const lead = { ...leadAccepted(from + n), policy: 'default'.padEnd(spare, '.') };
      return { topic, key: Buffer.from(`key-${(from + n) % 5_000}`.padEnd(32, '0')), value: codec.encode(LeadAcceptedEvent, lead) };
    });
    await producer.send(records);
  }
  await producer.close();
}

async function main(): Promise<void> {
  const infra = await startTestInfra({ progress: (line) => console.error(line) });
  const brokers = infra.kafkaBrokers.split(',');
  const kafka = createKafka({ brokers, clientId: 'bench', logger });
  const { subject, schemaVersion: version, schema } = LeadAcceptedEvent;
  const codec = createCodec({ known: [{ subject, version, schema, id: 1 }] });
  const bench: Bench = { brokers, kafka, topic: uniqueName('consumer-bench'), codec };
  await fill(bench);
  const runs = { eachBatch: baseline, ours, stockNest, ourNest };
  const samples: Record<keyof typeof runs, number[]> = { eachBatch: [], ours: [], stockNest: [], ourNest: [] };
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, run] of Object.entries(runs) as [keyof typeof runs, Run][]) {
      const rate = await run(bench);
      console.error(`${round === 0 ? 'warm-up' : `round ${round}`}: ${name} ${Math.round(rate)} records/s`);
      if (round > 0) samples[name].push(rate);
    }
  }
  await kafka.close();
  const compare = (what: string, own: number[], baseline: number[], goal: string): BenchResult => ({
    what,
    unit: 'records/s',
    ours: median(own),
    baseline: median(baseline),
    ratio: median(own) / median(baseline),
    goal,
    samples: { ours: own, baseline },
  });
  const size = `${total} records of ${valueBytes} bytes, ${partitions} partitions`;
  writeReport({
    bench: 'consumer',
    results: [
      compare(`group consumer that settles at once, ${size}, against kafkajs eachBatch no-op`, samples.ours, samples.eachBatch, '>= 0.8'),
      compare(
        `Nest handler of decoded events, ${size}, against Nest's own Kafka transport without decoding`,
        samples.ourNest,
        samples.stockNest,
        '>= 2.5',
      ),
    ],
  });
}

await main();
