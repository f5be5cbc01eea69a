import type Broker from 'kafkajs/src/broker/index.js';
import { protocolErrorType } from './client-errors.js';
import type { RecordTime, TopicPartitionOffset } from './ports.js';

/** Never waits for records to come: what is asked for is in the log or gone. */
const maxWaitTime = 0;
/** The broker gives the whole batch that holds the offset, however small this is, and nothing after it. */
const maxBytes = 1;
const readUncommitted = 0;

/**
 * When the record at an offset (or the first one kept after it) was written. One request per partition, since only the first partition
 * of a request gets its batch regardless of its size.
 * @returns an empty list where nothing is there any more
 */
export async function recordTime(broker: Broker, position: TopicPartitionOffset): Promise<RecordTime[]> {
  const messages = await fetchBatch(broker, position);
  const record = messages.find((message) => BigInt(message.offset) >= position.offset);
  return record === undefined ? [] : [{ ...position, timestampMs: Number(record.timestamp) }];
}

async function fetchBatch(broker: Broker, { topic, partition, offset }: TopicPartitionOffset) {
  const topics = [{ topic, partitions: [{ partition, fetchOffset: offset.toString(), maxBytes }] }];
  try {
    const { responses } = await broker.fetch({ isolationLevel: readUncommitted, maxWaitTime, minBytes: 0, maxBytes, topics });
    return responses.flatMap(({ partitions }) => partitions).flatMap(({ messages }) => messages);
  } catch (error) {
    if (protocolErrorType(error) === 'OFFSET_OUT_OF_RANGE') return [];
    throw error;
  }
}
