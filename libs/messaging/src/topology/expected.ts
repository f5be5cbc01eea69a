import { type TopicSpec, topics } from '#contracts';
import type { TopicDescription } from '../kafka/ports.js';

/** One thing about a topic or group that is not as the table in contracts says. */
export interface TopologyProblem {
  name: string;
  problem: string;
  fix: string;
}

/** The one topic with personal data: kept too long is wrong there, kept too short everywhere else. */
const personalTopics: readonly string[] = [topics.leads];

/** Kafka deletes whole segments, and an unfinished one only after segment.ms: a day of it on top of a day would double the retention. */
const segmentsPerRetention = 24;

/** What a topic is created with. Three replicas stand for production: two of them must have a record before it counts as written. */
export function topicConfig(spec: TopicSpec, replication: number): Record<string, string> {
  return {
    'cleanup.policy': 'delete',
    'retention.ms': String(spec.retentionMs),
    'segment.ms': String(Math.floor(spec.retentionMs / segmentsPerRetention)),
    'min.insync.replicas': replication >= 3 ? '2' : '1',
  };
}

export interface TopicState {
  description: TopicDescription | undefined;
  config: Record<string, string>;
}

/** What is wrong with an existing topic. More partitions than planned are allowed; so is keeping references for longer. */
export function topicProblems(spec: TopicSpec, { description, config }: TopicState, replication?: number): TopologyProblem[] {
  const name = `topic ${spec.name}`;
  if (description === undefined) return [{ name, problem: 'does not exist', fix: 'Run `leadctl topics apply`' }];
  const { partitions } = description;
  const problems: TopologyProblem[] = [];
  const unless = (fine: boolean, problem: string, fix: string) => fine || problems.push({ name, problem, fix });
  unless(
    partitions.length >= spec.partitions,
    `has ${partitions.length} partitions instead of ${spec.partitions}`,
    'Add partitions (the order of a key breaks once at that moment)',
  );
  const cleanup = config['cleanup.policy'];
  unless(cleanup === 'delete', `has cleanup.policy ${cleanup}`, 'Set cleanup.policy=delete: compaction drops leads of the same person');
  const retentionMs = Number(config['retention.ms']);
  const kept = `keeps records for ${retentionMs} ms`;
  if (personalTopics.includes(spec.name)) {
    const bounded = retentionMs >= 0 && retentionMs <= spec.retentionMs;
    unless(bounded, kept, `Set retention.ms to at most ${spec.retentionMs}: the topic carries personal data`);
  } else {
    unless(retentionMs < 0 || retentionMs >= spec.retentionMs, kept, `Set retention.ms to at least ${spec.retentionMs}`);
  }
  if (replication !== undefined) problems.push(...replicationProblems(name, { description, config }, replication));
  return problems;
}

function replicationProblems(name: string, state: TopicState, replication: number): TopologyProblem[] {
  const replicas = Math.min(...(state.description?.partitions ?? []).map((partition) => partition.replicas.length));
  const inSync = Number(state.config['min.insync.replicas']);
  const problems: TopologyProblem[] = [];
  if (replicas < replication) {
    problems.push({ name, problem: `has ${replicas} replicas instead of ${replication}`, fix: 'Reassign its partitions to more brokers' });
  }
  if (replication >= 3 && inSync < 2) {
    problems.push({ name, problem: `has min.insync.replicas ${inSync}`, fix: 'Set it to 2, else an acknowledged record can be lost' });
  }
  return problems;
}
