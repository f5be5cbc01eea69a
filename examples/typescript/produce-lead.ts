// Hands one lead in on the topic `leads` and prints where it landed, as one JSON line.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import { codecs } from './codecs.ts';
import { options } from './options.ts';
import { avroType, Registry } from './registry.ts';

const topic = 'leads';
const here = import.meta.dirname;
const args = options({
  /** host:port,… */
  brokers: process.env.KAFKA_BROKERS,
  /** Confluent-compatible base URL. */
  registry: process.env.SCHEMA_REGISTRY_URL,
  /** none, gzip, snappy, lz4 or zstd. */
  codec: 'none',
  /** JSON file with the fields of LeadSubmitted. */
  lead: join(here, '../lead.json'),
  schema: join(here, '../../schemas/leads-value/v1.avsc'),
  /** The source's own id; replaces the one in the file. */
  'source-event-id': '',
});

function readLead(): Record<string, unknown> & { source_event_id: string } {
  const lead = JSON.parse(readFileSync(args.lead, 'utf8')) as Record<string, unknown> & { source_event_id: string; submitted_at?: string };
  if (args['source-event-id'] !== '') lead.source_event_id = args['source-event-id'];
  // The moment the person submitted: deadlines run from it. Real sources know it; the sample is submitted now.
  return { ...lead, submitted_at: lead.submitted_at ? new Date(lead.submitted_at) : new Date() };
}

/** Magic byte, four-byte schema id, Avro binary. */
function encode(lead: unknown, schemaText: string, schemaId: number): Buffer {
  const head = Buffer.alloc(5);
  head.writeInt32BE(schemaId, 1);
  return Buffer.concat([head, avroType(schemaText).toBuffer(lead)]);
}

const compression = codecs[args.codec as keyof typeof codecs];
if (compression === undefined) throw new Error(`--codec is one of ${Object.keys(codecs).join(', ')}`);
const schemaText = readFileSync(args.schema, 'utf8');
const schemaId = await new Registry(args.registry).idOf(`${topic}-value`, schemaText);
const lead = readLead();

const kafka = new kafkajs.Kafka({ brokers: args.brokers.split(','), clientId: 'example-typescript', logLevel: kafkajs.logLevel.ERROR });
const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
await producer.connect();
// The key is the submission's own id, so that its repeats stay in order; never an e-mail or a phone.
const message = { key: lead.source_event_id, value: encode(lead, schemaText, schemaId) };
const [landed] = await producer.send({ topic, acks: -1, compression, messages: [message] });
await producer.disconnect();
console.log(
  JSON.stringify({
    source_event_id: lead.source_event_id,
    topic,
    partition: landed?.partition,
    offset: Number(landed?.baseOffset),
    schema_id: schemaId,
    codec: args.codec,
  }),
);
