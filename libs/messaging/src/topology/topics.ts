import { type GroupSpec, type TopicSpec, topology } from '#contracts';
import { ConfigError } from '#runtime';
import type { AdminPort } from '../kafka/ports.js';
import { type TopologyProblem, topicConfig, topicProblems } from './expected.js';

export interface ApplyTopicsOptions {
  admin: AdminPort;
  /** Destination names of the site file. */
  destinations: readonly string[];
  /** 3 in production (min ISR 2), 1 on a single broker. */
  replication: number;
}

export interface TopologyReport {
  created: string[];
  existing: string[];
  /** Where the earliest offset was committed because the group had none. */
  offsets: { group: string; topic: string; partitions: number[] }[];
  problems: TopologyProblem[];
}

/**
 * Creates missing topics, commits the earliest offset where a group has none (so that no lead before its first join is skipped), reports what
 * differs. Never alters an existing topic. Can be repeated. @throws BrokersUnavailable.
 */
export async function applyTopics({ admin, destinations, replication }: ApplyTopicsOptions): Promise<TopologyReport> {
  const expected = topology(destinations);
  const wanted = expected.topics.map((spec) => ({
    topic: spec.name,
    partitions: spec.partitions,
    replication,
    config: topicConfig(spec, replication),
  }));
  const { created, existing } = await admin.createTopics(wanted);
  const problems = await differences(admin, expected.topics, replication);
  const offsets: TopologyReport['offsets'] = [];
  for (const group of expected.groups) {
    const missing = await missingOffsets(admin, group);
    if (missing.length === 0) continue;
    if (await hasMembers(admin, group.group)) {
      problems.push({
        name: `group ${group.group}`,
        problem: `is running and has no committed offset on ${missing.map(({ topic }) => topic).join(', ')}`,
        fix: 'Stop its service and run `leadctl topics apply` again',
      });
      continue;
    }
    offsets.push(...(await commitEarliest(admin, group.group, missing)));
  }
  return { created, existing, offsets, problems };
}

export interface VerifyTopicsOptions {
  admin: AdminPort;
  /** Destination names of the site file. */
  destinations: readonly string[];
  /** Groups that the service runs: their topics and committed offsets are checked. */
  groups: readonly string[];
  /** Topics that the service writes. */
  produces?: readonly string[];
}

/** Start-up check. @throws ConfigError with every mismatch at once, BrokersUnavailable. */
export async function verifyTopics({ admin, destinations, groups, produces = [] }: VerifyTopicsOptions): Promise<void> {
  const expected = topology(destinations);
  const own = expected.groups.filter(({ group }) => groups.includes(group));
  const unplanned = groups.filter((group) => !own.some((spec) => spec.group === group));
  const names = new Set([...produces, ...own.flatMap((group) => group.topics)]);
  const problems: TopologyProblem[] = unplanned.map((group) => ({
    name: `group ${group}`,
    problem: 'belongs to no destination of the site file',
    fix: 'Add the destination, or do not start the group',
  }));
  problems.push(
    ...(await differences(
      admin,
      expected.topics.filter(({ name }) => names.has(name)),
    )),
  );
  for (const group of own) {
    const missing = await missingOffsets(admin, group);
    problems.push(
      ...missing.map(({ topic, partitions }) => ({
        name: `group ${group.group}`,
        problem: `has no committed offset on ${topic} partition ${partitions.join(', ')}`,
        fix: 'Run `leadctl topics apply`',
      })),
    );
  }
  if (problems.length > 0) throw new ConfigError(problems.map(({ name, problem, fix }) => ({ path: name, problem, fix })));
}

async function differences(admin: AdminPort, specs: readonly TopicSpec[], replication?: number): Promise<TopologyProblem[]> {
  const descriptions = await admin.describeTopics(specs.map((spec) => spec.name));
  const configs = await admin.topicConfigs(descriptions.map(({ topic }) => topic));
  return specs.flatMap((spec) => {
    const description = descriptions.find(({ topic }) => topic === spec.name);
    return topicProblems(spec, { description, config: configs.get(spec.name) ?? {} }, replication);
  });
}

interface Missing {
  topic: string;
  partitions: number[];
}

/** Partitions of existing topics on which the group never committed. */
async function missingOffsets(admin: AdminPort, { group, topics }: GroupSpec): Promise<Missing[]> {
  const present = await admin.describeTopics(topics);
  if (present.length === 0) return [];
  const names = present.map(({ topic }) => topic);
  const committed = await admin.groupOffsets(group, names);
  const without = names.map((topic) => ({
    topic,
    partitions: committed.filter((entry) => entry.topic === topic && entry.offset === undefined).map(({ partition }) => partition),
  }));
  return without.filter(({ partitions }) => partitions.length > 0);
}

async function hasMembers(admin: AdminPort, group: string): Promise<boolean> {
  const [description] = await admin.describeGroups([group]);
  return (description?.members.length ?? 0) > 0;
}

async function commitEarliest(admin: AdminPort, group: string, missing: readonly Missing[]): Promise<TopologyReport['offsets']> {
  const offsets = [];
  for (const { topic, partitions } of missing) {
    const ends = await admin.topicOffsets(topic);
    const wanted = ends.filter(({ partition }) => partitions.includes(partition));
    offsets.push(...wanted.map(({ partition, low }) => ({ topic, partition, offset: low })));
  }
  await admin.setGroupOffsets(group, offsets);
  return missing.map(({ topic, partitions }) => ({ group, topic, partitions }));
}
