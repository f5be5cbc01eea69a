import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import avsc from 'avsc';
import { Kafka, logLevel, type Message, Partitioners } from 'kafkajs';
import { readTopic } from '../support/topics.js';

export const v1File = join(import.meta.dirname, '../../schemas/lead.accepted-value/v1.avsc');
export const v2File = join(import.meta.dirname, 'fixtures/lead.accepted-v2.avsc');

/** The two fields that only v2 has, and their defaults. */
export const v2Defaults = { language: null, priority: null };

/** Magic byte and schema id in front of the Avro body. */
const frameBytes = 5;

const type = (file: string) => avsc.Type.forSchema(JSON.parse(readFileSync(file, 'utf8')) as avsc.Schema);

/** Registers v2 beside v1, as the deployment of a later release would, and gives its id. Throws with the registry's answer when it refuses. */
export async function registerV2(schemaRegistry: string): Promise<number> {
  const answer = await fetch(`${schemaRegistry}/subjects/lead.accepted-value/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schema: readFileSync(v2File, 'utf8') }),
    signal: AbortSignal.timeout(10_000),
  });
  if (!answer.ok) throw new Error(`the registry refused v2: ${answer.status} ${await answer.text()}`);
  return ((await answer.json()) as { id: number }).id;
}

/**
 * Publishes `count` events written with v2, spread over all partitions among the v1 records, and gives them as a reader prints them. They name no
 * destination, so that they are announcements for readers alone and nothing is delivered.
 */
export async function publishV2(brokers: string, schemaId: number, count: number): Promise<Record<string, unknown>[]> {
  const events = Array.from({ length: count }, (_, index) => v2Event(index));
  const messages = events.map((event) => ({
    key: event.event_id,
    value: encodeV2(schemaId, event),
    headers: { 'ld-event-id': event.event_id, 'ld-destinations': '' },
  }));
  await publish(brokers, messages);
  return events.map(printed);
}

/** Publishes an event that stands on the topic once more, in the words of v2, with its own key and headers. Throws when it is not there. */
export async function republishAsV2(brokers: string, schemaId: number, eventId: string): Promise<void> {
  let found: Message | undefined;
  for await (const { key, value, headers } of readTopic(brokers, (topic) => topic === 'lead.accepted')) {
    if (headers['ld-event-id']?.toString() !== eventId || value === null) continue;
    const event = type(v1File).fromBuffer(value.subarray(frameBytes)) as Record<string, unknown>;
    found = { key, value: encodeV2(schemaId, { ...event, ...v2Defaults }), headers };
  }
  if (found === undefined) throw new Error(`no event ${eventId} on lead.accepted`);
  await publish(brokers, [found]);
}

async function publish(brokers: string, messages: Message[]): Promise<void> {
  const kafka = new Kafka({ brokers: brokers.split(','), clientId: 'later-release', logLevel: logLevel.NOTHING });
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  await producer.send({ topic: 'lead.accepted', acks: -1, messages });
  await producer.disconnect();
}

function encodeV2(schemaId: number, event: unknown): Buffer {
  const frame = Buffer.alloc(frameBytes);
  frame.writeInt32BE(schemaId, 1);
  return Buffer.concat([frame, type(v2File).toBuffer(event)]);
}

function v2Event(index: number) {
  const now = Date.now();
  return {
    event_id: randomUUID(),
    event_type: 'lead.accepted',
    version: 1,
    lead_ref: `L-V2${index}`,
    organization: 'demo',
    source: 'website',
    source_event_ref: `v1:${index}`,
    language: 'en',
    form: 'contact',
    campaign: null,
    submitted_at: now,
    accepted_at: now + 1,
    deadline_at: now + 14_400_000,
    policy: 'default',
    payload_hmac: `v1:${index}`,
    consent: true,
    test: true,
    destinations: [],
    priority: index,
  };
}

/** An event as the examples print it: times as ISO text. */
function printed(event: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(event).map(([name, value]) => [name, name.endsWith('_at') ? new Date(Number(value)).toISOString() : value]),
  );
}
