import { retryTierMs, retryTiers } from '#contracts';
import { metrics } from '#runtime';
import type { GroupPartitionLag, LagPicture } from './read-lag.js';

const gauges = [
  metrics.groupLag,
  metrics.groupOffset,
  metrics.groupMembers,
  metrics.groupLagSeconds,
  metrics.topicOffset,
  metrics.topicOldestOffset,
  metrics.tierOverdue,
];

/** Sets the gauges to this picture and nothing but it. Without a picture they have no samples: what could not be read is not 0. */
export function publishLag(picture: LagPicture | undefined): void {
  for (const gauge of gauges) gauge.reset();
  if (picture === undefined) return;
  for (const { topic, partition, start, end } of picture.ends) {
    metrics.topicOffset.set({ topic, partition }, Number(end));
    metrics.topicOldestOffset.set({ topic, partition }, Number(start));
  }
  for (const { group: consumergroup, count } of picture.members) metrics.groupMembers.set({ consumergroup }, count);
  for (const entry of picture.partitions) publishPartition(entry, picture.readAtMs);
  metrics.lagExportedAt.set(picture.readAtMs / 1_000);
}

/** -1 stands for "nothing committed", as in kafka_exporter: sum with `>= 0`. */
function publishPartition(entry: GroupPartitionLag, readAtMs: number): void {
  const { group, topic, partition, committed, lag } = entry;
  metrics.groupLag.set({ consumergroup: group, topic, partition }, Number(lag ?? -1n));
  metrics.groupOffset.set({ consumergroup: group, topic, partition }, Number(committed ?? -1n));
  const seconds = ageSeconds(entry, readAtMs);
  if (seconds === undefined) return;
  metrics.groupLagSeconds.set({ group, topic, partition }, seconds);
  const tier = retryTiers.find((name) => topic.endsWith(`.retry.${name}`));
  if (tier !== undefined) metrics.tierOverdue.set({ group, tier }, Math.max(0, seconds - retryTierMs[tier] / 1_000));
}

/** 0 where nothing waits; `undefined` where the age is not known. */
function ageSeconds({ lag, nextProducedAtMs }: GroupPartitionLag, readAtMs: number): number | undefined {
  if (lag === 0n) return 0;
  return nextProducedAtMs === undefined ? undefined : Math.max(0, (readAtMs - nextProducedAtMs) / 1_000);
}
