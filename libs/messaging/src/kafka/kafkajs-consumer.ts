import kafkajs, { type Consumer, type EachBatchPayload } from 'kafkajs';
import type Batch from 'kafkajs/src/consumer/batch.js';
import type OffsetManager from 'kafkajs/src/consumer/offsetManager/index.js';
import { newClient } from './client.js';
import { onOffsetReset } from './patches/offset-reset.js';
import type { ConsumerPort, ConsumerPortOptions, FetchedRecord, KafkaOptions, TopicPartitionOffset } from './ports.js';

const defaultMaxWaitMs = 1_000;
const maxHeartbeatMs = 3_000;
const maxBytesPerPartition = 1_048_576;
const maxBytes = 10_485_760;
const rebalanceTimeoutMs = 60_000;
const metadataMaxAgeMs = 60_000;
/** Batches of one fetch are taken in at once: a batch that waits for room must not hold back those of other partitions. */
const batchesAtOnce = 64;

/** Session, heartbeat and fetch wait that fit together: at least three heartbeats and fetch rounds in one session. */
export function consumerTimes(sessionTimeoutMs: number, maxWaitMs = defaultMaxWaitMs): { heartbeatMs: number; maxWaitMs: number } {
  const third = Math.max(1, Math.floor(sessionTimeoutMs / 3));
  return { heartbeatMs: Math.min(maxHeartbeatMs, third), maxWaitMs: Math.min(maxWaitMs, third) };
}

function byTopic(offsets: readonly TopicPartitionOffset[]): { topic: string; partitions: { partition: number; offset: string }[] }[] {
  const topics = new Map<string, { partition: number; offset: string }[]>();
  for (const { topic, partition, offset } of offsets) {
    const entry = { partition, offset: offset.toString() };
    const partitions = topics.get(topic);
    if (partitions === undefined) topics.set(topic, [entry]);
    else partitions.push(entry);
  }
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }));
}

function commitUnder(positions: OffsetManager | undefined): (offsets: readonly TopicPartitionOffset[]) => Promise<void> {
  return async (offsets) => {
    // Without offsets kafkajs would commit whatever it has resolved, which is everything it ever fetched.
    if (offsets.length === 0) return;
    if (positions === undefined) throw new Error('A batch without its assignment cannot be committed');
    await positions.commitOffsets({ topics: byTopic(offsets) });
  };
}

/** One kafkajs consumer, never restarted by kafkajs: every crash is reported once, and the supervisor builds the next one. */
export function createConsumerPort(kafka: KafkaOptions, options: ConsumerPortOptions): ConsumerPort {
  const { group, topics, sessionTimeoutMs, on } = options;
  const { heartbeatMs, maxWaitMs } = consumerTimes(sessionTimeoutMs, options.maxWaitMs);
  const consumer = newClient(kafka).consumer({
    groupId: group,
    sessionTimeout: sessionTimeoutMs,
    rebalanceTimeout: rebalanceTimeoutMs,
    heartbeatInterval: heartbeatMs,
    maxWaitTimeInMs: maxWaitMs,
    maxBytesPerPartition: options.maxBytesPerPartition ?? maxBytesPerPartition,
    maxBytes,
    metadataMaxAge: options.metadataMaxAgeMs ?? metadataMaxAgeMs,
    allowAutoTopicCreation: false,
    retry: { retries: 5, restartOnFailure: () => Promise.resolve(false) },
  });
  let memberId: string | undefined;
  const forgetResets = onOffsetReset((reset) => {
    if (reset.memberId === memberId) on.offsetReset(reset);
  });
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    memberId = payload.memberId;
    on.assigned(payload.memberAssignment);
  });
  consumer.on(consumer.events.REBALANCING, () => on.revoking());
  consumer.on(consumer.events.CRASH, ({ payload }) => on.crashed(payload.error));
  consumer.on(consumer.events.FETCH, () => on.alive());
  return {
    start: () => start(consumer, topics, on),
    pause: (topic, partitions) => whileRunning(() => consumer.pause([{ topic, partitions: [...partitions] }])),
    resume: (topic, partitions) => whileRunning(() => consumer.resume([{ topic, partitions: [...partitions] }])),
    stop: async () => {
      forgetResets();
      await consumer.disconnect();
    },
  };
}

/** Between its crash and our hearing of it kafkajs refuses to be steered; the next assignment is steered anew. */
function whileRunning(steer: () => void): void {
  try {
    steer();
  } catch (error) {
    if (!(error instanceof kafkajs.KafkaJSNonRetriableError)) throw error;
  }
}

async function start(consumer: Consumer, topics: readonly string[], on: ConsumerPortOptions['on']): Promise<void> {
  await consumer.connect();
  await consumer.subscribe({ topics: [...topics], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    partitionsConsumedConcurrently: batchesAtOnce,
    eachBatch: (payload) => takeBatch(payload, on),
  });
}

/** "Resolving" only moves the fetch position of this generation, so every record is resolved at once; what is committed is another matter. */
function takeBatch({ batch, resolveOffset, heartbeat }: EachBatchPayload, on: ConsumerPortOptions['on']): Promise<void> {
  const { positions } = batch as unknown as Batch;
  const last = batch.lastOffset();
  resolveOffset(last);
  return on.batch({
    topic: batch.topic,
    partition: batch.partition,
    records: batch.messages as unknown as FetchedRecord[],
    nextOffset: Number(last) + 1,
    highWatermark: Number(batch.highWatermark),
    commit: commitUnder(positions),
    heartbeat,
  });
}
