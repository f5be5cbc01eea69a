import { groups, topics } from '#contracts';
import type { AdminPort, TopicPartitionOffset } from '#messaging';

/** What a backlog is read from. */
export type BacklogSource = Pick<AdminPort, 'topicOffsets' | 'groupOffsets' | 'recordTimes'>;

/**
 * When the oldest record of lead.accepted was published that the group of each destination has still to read; a destination whose group has read
 * everything is left out. Throws where Kafka does not answer.
 */
export async function unreadSince(source: BacklogSource, destinations: readonly string[]): Promise<Map<string, Date>> {
  const unread = new Map<string, Date>();
  for (const destination of destinations) {
    const positions = await nextUnread(source, groups.crmWriter(destination));
    if (positions.length === 0) continue;
    const times = (await source.recordTimes(positions)).map(({ timestampMs }) => timestampMs);
    if (times.length > 0) unread.set(destination, new Date(Math.min(...times)));
  }
  return unread;
}

/** Commits are read before the ends, so that a group that keeps up never looks ahead of the log. */
async function nextUnread(source: BacklogSource, group: string): Promise<TopicPartitionOffset[]> {
  const topic = topics.leadAccepted;
  const committed = new Map((await source.groupOffsets(group, [topic])).map(({ partition, offset }) => [partition, offset ?? 0n]));
  const ends = await source.topicOffsets(topic);
  return ends.flatMap(({ partition, low, high }) => {
    const next = committed.get(partition) ?? 0n;
    const offset = next < low ? low : next;
    return offset < high ? [{ topic, partition, offset }] : [];
  });
}
