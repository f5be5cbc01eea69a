import { Kafka, logLevel } from 'kafkajs';
import { registerCodecs } from '#messaging';

registerCodecs();

export interface ReadRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Record<string, Buffer>;
}

/** Reads every record of the topics that `wanted` names, from the first offset to the end as it stands at the call; a throw-away group, nothing is committed. */
export async function* readTopic(brokers: string, wanted: (topic: string) => boolean): AsyncGenerator<ReadRecord> {
  const kafka = new Kafka({ brokers: brokers.split(','), clientId: 'test-reader', logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  const topics = (await admin.listTopics()).filter(wanted);
  const ends = new Map<string, bigint>();
  for (const topic of topics) {
    for (const { partition, high, low } of await admin.fetchTopicOffsets(topic)) {
      if (BigInt(high) > BigInt(low)) ends.set(`${topic}/${partition}`, BigInt(high));
    }
  }
  await admin.disconnect();
  if (ends.size === 0) return;

  const consumer = kafka.consumer({ groupId: `test-reader-${process.pid}-${Date.now()}`, maxWaitTimeInMs: 200 });
  const queue: ReadRecord[] = [];
  let wake: (() => void) | undefined;
  await consumer.connect();
  await consumer.subscribe({
    topics: [...new Set([...ends.keys()].map((key) => key.slice(0, key.lastIndexOf('/'))))],
    fromBeginning: true,
  });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => {
      const key = `${batch.topic}/${batch.partition}`;
      for (const message of batch.messages) queue.push(toRecord(batch.topic, batch.partition, message));
      if (BigInt(batch.lastOffset()) + 1n >= (ends.get(key) ?? 0n)) ends.delete(key);
      wake?.();
    },
  });
  while (ends.size > 0 || queue.length > 0) {
    const record = queue.shift();
    if (record) yield record;
    else await new Promise<void>((resolve) => (wake = resolve));
  }
  await consumer.disconnect();
}

function toRecord(
  topic: string,
  partition: number,
  message: { key: Buffer | null; value: Buffer | null; offset: string; headers?: Record<string, unknown> },
): ReadRecord {
  const headers = Object.entries(message.headers ?? {}).map(([name, value]) => {
    const values = (Array.isArray(value) ? value : [value]).map((one) => Buffer.from((one ?? '') as Buffer | string));
    return [name, Buffer.concat(values)] as const;
  });
  return { topic, partition, offset: message.offset, key: message.key, value: message.value, headers: Object.fromEntries(headers) };
}
