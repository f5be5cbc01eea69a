// Reads `lead.accepted` and prints each event once, as one JSON line. Stops after --count events, or never.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import './codecs.ts';
import { options } from './options.ts';
import { avroType, Registry, Unreadable } from './registry.ts';

const topic = 'lead.accepted';
const args = options({
  /** host:port,… */
  brokers: process.env.KAFKA_BROKERS,
  /** Confluent-compatible base URL. */
  registry: process.env.SCHEMA_REGISTRY_URL,
  /** Your own consumer group; never one of the product's. */
  group: 'example-typescript',
  /** Stop after so many distinct events. */
  count: 'Infinity',
  /** With --count: give up after so many seconds (exit 3). */
  timeout: '60',
  /** The reader's own schema. */
  schema: join(import.meta.dirname, '../../schemas/lead.accepted-value/v1.avsc'),
});

const count = Number(args.count);
const registry = new Registry(args.registry);
const readerType = avroType(readFileSync(args.schema, 'utf8'));
/** The topic is at least once: the same event can come again. Keep this where your effect is kept (a unique key on event_id), not in memory. */
const seen = new Set<string>();

/** The event in the shape of the reader's schema, whatever version wrote it. */
async function decode(value: Buffer): Promise<{ writer_schema_id: number; event: { event_id: string } }> {
  if (value.length < 5 || value[0] !== 0) throw new Unreadable('it does not start with the magic byte 0 and a schema id');
  const id = value.readInt32BE(1);
  const writerType = await registry.schema(id);
  try {
    return { writer_schema_id: id, event: readerType.fromBuffer(value.subarray(5), readerType.createResolver(writerType)) };
  } catch (error) {
    throw new Unreadable(String(error));
  }
}

async function handle(where: string, value: Buffer | null): Promise<void> {
  const decoded = await decode(value ?? Buffer.alloc(0)).catch((problem: unknown) => {
    // One unreadable record must not stop the ones behind it. Anything else, such as a registry that is away: the record is read again later.
    if (!(problem instanceof Unreadable)) throw problem;
    console.error(`${where} cannot be read (${problem.message}): skipped`);
  });
  if (!decoded || seen.has(decoded.event.event_id)) return;
  seen.add(decoded.event.event_id);
  console.log(JSON.stringify(decoded));
}

const kafka = new kafkajs.Kafka({ brokers: args.brokers.split(','), clientId: 'example-typescript', logLevel: kafkajs.logLevel.ERROR });
const consumer = kafka.consumer({ groupId: args.group });
const { promise: done, resolve: finish } = Promise.withResolvers<number>();
if (Number.isFinite(count)) setTimeout(() => finish(3), Number(args.timeout) * 1000).unref();
await consumer.connect();
await consumer.subscribe({ topic, fromBeginning: true });
await consumer.run({
  autoCommit: false,
  eachMessage: async ({ partition, message }) => {
    if (seen.size >= count) return;
    await handle(`${topic}/${partition}@${message.offset}`, message.value);
    // After the effect, never before: a crash in between repeats the event instead of losing it.
    await consumer.commitOffsets([{ topic, partition, offset: (BigInt(message.offset) + 1n).toString() }]);
    if (seen.size >= count) finish(0);
  },
});
process.exitCode = await done;
if (process.exitCode === 3) console.error(`only ${seen.size} of ${args.count} events arrived`);
await consumer.disconnect();
