import type Broker from 'kafkajs/src/broker/index.js';
import type { RecordTime, TopicPartitionOffset } from './ports.js';

/** Never waits for records to come: what is asked for is in the log or gone. */
const maxWaitTime = 0;
/** The broker gives the whole batch that holds the offset, however small this is, and nothing after it. */
const maxBytes = 1;
const readUncommitted = 0;

/**
 * When the record at an offset (or the first one kept after it) was written. One request per partition, since only the first partition
 * of a request gets its batch regardless of its size.
 * @returns undefined where nothing is there any more
 */
export async function recordTime(broker: Broker, { topic, partition, offset }: TopicPartitionOffset): Promise<RecordTime | undefined> {
  const { responses } = await broker.fetch({
    isolationLevel: readUncommitted,
    maxWaitTime,
    minBytes: 0,
    maxBytes,
    topics: [{ topic, partitions: [{ partition, fetchOffset: offset.toString(), maxBytes }] }],
  });
  const messages = responses.flatMap(({ partitions }) => partitions).flatMap((entry) => entry.messages);
  const record = messages.find((message) => BigInt(message.offset) >= offset);
  return record === undefined ? undefined : { topic, partition, offset, timestampMs: Number(record.timestamp) };
}
