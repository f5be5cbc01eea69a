import kafkajs from 'kafkajs';
import { headers, keys, partitions, value } from './records.js';

export interface Producing {
  brokers: string[];
  topic: string;
  rows: number;
}

/** kafkajs at its best: partitions chosen beforehand, no idempotence, several requests in flight. Gives rows per second. */
export async function produceAlone({ brokers, topic, rows }: Producing): Promise<number> {
  const producer = new kafkajs.Kafka({ brokers, clientId: 'relay-bench', logLevel: kafkajs.logLevel.NOTHING }).producer({
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    idempotent: false,
  });
  await producer.connect();
  const batch = Number(process.env.PRODUCE_BATCH ?? 1_000);
  const batches = Array.from({ length: rows / batch }, (_, b) => ({
    topic,
    messages: Array.from({ length: batch }, (_, n) => ({
      key: Buffer.from(`key-${(b * batch + n) % keys}`.padEnd(32, '0')),
      value,
      headers,
      partition: n % partitions,
    })),
  }));
  const startedMs = performance.now();
  const sender = async () => {
    for (let next = batches.pop(); next !== undefined; next = batches.pop()) await producer.send({ ...next, acks: -1 });
  };
  await Promise.all(Array.from({ length: Number(process.env.PRODUCE_IN_FLIGHT ?? 4) }, sender));
  const rate = (rows * 1_000) / (performance.now() - startedMs);
  await producer.disconnect();
  return rate;
}
