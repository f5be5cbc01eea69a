import kafkajs from 'kafkajs';
import { uniqueName } from '#testkit';

/** Counts records and tells when all have come. The clock starts after the first chunk, which is not counted: it took unknown time. */
export class RecordCount {
  private seen = 0;
  private first = 0;
  private firstMs = 0;
  private finish: (rate: number) => void = () => undefined;
  /** Records per second between the first chunk and the last record. */
  readonly rate = new Promise<number>((resolve) => {
    this.finish = resolve;
  });

  constructor(private readonly total: number) {}

  add(records: number): void {
    if (this.seen === 0) {
      this.first = records;
      this.firstMs = performance.now();
    }
    this.seen += records;
    if (this.seen >= this.total) this.finish(((this.total - this.first) * 1_000) / (performance.now() - this.firstMs));
  }
}

export interface EachBatchRun {
  brokers: string[];
  topic: string;
  /** Records on the topic. */
  total: number;
  partitions: number;
}

/** The baseline of what consumes: kafkajs at its best, with whole batches, all partitions at once, and commits on a timer. Records per second. */
export async function eachBatch({ brokers, topic, total, partitions }: EachBatchRun): Promise<number> {
  const count = new RecordCount(total);
  const consumer = new kafkajs.Kafka({ brokers, clientId: 'bench', logLevel: kafkajs.logLevel.NOTHING }).consumer({
    groupId: uniqueName('bench'),
    maxBytesPerPartition: 1_048_576,
    maxWaitTimeInMs: 1_000,
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    partitionsConsumedConcurrently: partitions,
    autoCommitInterval: 200,
    eachBatch: ({ batch }) => Promise.resolve(count.add(batch.messages.length)),
  });
  const rate = await count.rate;
  await consumer.disconnect();
  return rate;
}
