import type { GroupSpec } from '#contracts';
import type { AdminPort, TopicPartitionOffset } from '#messaging';
import { lagOf, type PartitionLag } from './lag-of.js';

/** What lag is read from. */
export type LagSource = Pick<AdminPort, 'offsetsOf' | 'groupOffsets' | 'describeGroups' | 'recordTimes'>;

export interface TopicPartitionEnds {
  topic: string;
  partition: number;
  start: bigint;
  end: bigint;
}

export interface GroupPartitionLag extends PartitionLag {
  group: string;
  topic: string;
  partition: number;
  committed: bigint | undefined;
  /** When the next record was produced (epoch milliseconds); `undefined` where there is none or its lag is unknown. */
  nextProducedAtMs: number | undefined;
}

export interface LagPicture {
  readAtMs: number;
  ends: TopicPartitionEnds[];
  partitions: GroupPartitionLag[];
  members: { group: string; count: number }[];
}

/**
 * Reads where every group stands, in a handful of requests. Commits are read before the ends, so that a group that keeps up never
 * looks ahead of the log.
 * @throws whatever the source throws: a picture is whole or there is none
 */
export async function readLag(source: LagSource, groups: readonly GroupSpec[]): Promise<LagPicture> {
  const described = await source.describeGroups(groups.map(({ group }) => group));
  const commits = await Promise.all(
    groups.map(async ({ group, topics }) => ({ group, offsets: await source.groupOffsets(group, topics) })),
  );
  const topics = [...new Set(groups.flatMap((spec) => spec.topics))];
  const offsets = await source.offsetsOf(topics);
  const ends = offsets.map(({ topic, partition, low, high }) => ({ topic, partition, start: low, end: high }));
  const endOf = new Map(ends.map((entry) => [`${entry.topic}/${entry.partition}`, entry]));
  const positions = commits.flatMap(({ group, offsets }) =>
    offsets.flatMap(({ topic, partition, offset: committed }) => {
      const end = endOf.get(`${topic}/${partition}`);
      return end === undefined ? [] : [{ group, topic, partition, committed, ...lagOf({ ...end, committed }) }];
    }),
  );
  const times = await recordTimes(source, positions);
  return {
    readAtMs: Date.now(),
    ends,
    partitions: positions.map((position) => ({ ...position, nextProducedAtMs: times.get(positionKey(position)) })),
    members: described.map(({ group, members }) => ({ group, count: members.length })),
  };
}

type Behind = Pick<GroupPartitionLag, 'topic' | 'partition' | 'next'>;

const positionKey = ({ topic, partition, next }: Behind): string => `${topic}/${partition}/${next}`;

/** Asks once for each record that some group reads next; nothing is asked while every group has caught up. */
async function recordTimes(source: LagSource, positions: readonly Behind[]): Promise<Map<string, number>> {
  const wanted = new Map<string, TopicPartitionOffset>();
  for (const position of positions) {
    const { topic, partition, next } = position;
    if (next !== undefined) wanted.set(positionKey(position), { topic, partition, offset: next });
  }
  if (wanted.size === 0) return new Map();
  const found = await source.recordTimes([...wanted.values()]);
  return new Map(found.map(({ topic, partition, offset, timestampMs }) => [`${topic}/${partition}/${offset}`, timestampMs]));
}
