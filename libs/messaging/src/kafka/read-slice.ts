import type Broker from 'kafkajs/src/broker/index.js';
import { KafkaRecord } from '../consumer/kafka-record.js';
import { protocolErrorType } from './client-errors.js';
import type { LogSlice, TopicPartitionOffset } from './ports.js';

/** Never waits for records to come. */
const maxWaitTime = 0;
const readUncommitted = 0;
const defaultBytes = 512 * 1_024;

/** The records from an offset on, at most about `maxBytes` of them; a batch that is larger comes whole. Undefined: the log begins later. */
export async function readSlice(broker: Broker, position: TopicPartitionOffset, maxBytes = defaultBytes): Promise<LogSlice | undefined> {
  const { topic, partition, offset } = position;
  const messages = await fetchFrom(broker, position, maxBytes);
  // A batch comes from its begin on, also where the offset lies within it.
  const wanted = messages?.filter((message) => BigInt(message.offset) >= offset);
  const last = wanted?.at(-1);
  return (
    wanted && {
      records: wanted.map((message) => new KafkaRecord(topic, partition, message)),
      next: last && BigInt(last.offset) + 1n,
    }
  );
}

async function fetchFrom(broker: Broker, { topic, partition, offset }: TopicPartitionOffset, maxBytes: number) {
  const topics = [{ topic, partitions: [{ partition, fetchOffset: offset.toString(), maxBytes }] }];
  try {
    const { responses } = await broker.fetch({ isolationLevel: readUncommitted, maxWaitTime, minBytes: 0, maxBytes, topics });
    return responses.flatMap(({ partitions }) => partitions).flatMap(({ messages }) => messages);
  } catch (error) {
    if (protocolErrorType(error) === 'OFFSET_OUT_OF_RANGE') return undefined;
    throw error;
  }
}
