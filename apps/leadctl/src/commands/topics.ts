import { type AdminPort, applyTopics, type TopologyReport } from '#messaging';
import type { Line } from '../output.js';

/** Kept on three brokers where there are as many, else on what there is; a real installation says so itself. */
const wantedReplication = 3;

export interface TopicsOptions {
  admin: AdminPort;
  destinations: readonly string[];
  /** Default: three, or the number of brokers where there are fewer. */
  replication?: number;
}

/** Creates what is missing and names what differs. @throws see applyTopics */
export async function applyAllTopics({ admin, destinations, replication }: TopicsOptions): Promise<TopologyReport> {
  const copies = replication ?? Math.min(wantedReplication, await admin.brokerCount());
  return applyTopics({ admin, destinations, replication: copies });
}

/** What was done and what a person must look at. */
export function topicLines({ created, existing, offsets, problems }: TopologyReport): Line[] {
  return [
    ...created.map((name) => ({ name: `topic ${name}`, result: 'created' })),
    ...existing
      .filter((name) => !problems.some((problem) => problem.name === `topic ${name}`))
      .map((name) => ({ name: `topic ${name}`, result: 'as it should be' })),
    ...offsets.map(({ group, topic, partitions }) => ({
      name: `group ${group}`,
      result: `begins at the earliest record of ${topic}, partition ${partitions.join(', ')}`,
    })),
    ...problems.map(({ name, problem, fix }) => ({ name, result: `PROBLEM: ${problem}. ${fix}` })),
  ];
}
