import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { embeddedJars } from '../infra/downloads.js';
import { javaCommand, jvmFlags } from '../infra/java.js';
import type { Stack } from '../instance/start-stack.js';

/** A line of `kafka-consumer-groups --describe`; what it prints as `-` is undefined. */
export interface ToolLag {
  group: string;
  topic: string;
  partition: number;
  committed: bigint | undefined;
  end: bigint | undefined;
  lag: bigint | undefined;
}

/** What Kafka's own command-line tool says about groups. Takes a second or two: it starts a JVM. Throws when the tool fails. */
export async function lagByKafkaTool(brokers: string, groups: readonly string[]): Promise<ToolLag[]> {
  const named = groups.flatMap((group) => ['--group', group]);
  return readToolOutput(await describe(brokers, named), groups);
}

/** Lag by `group/topic/partition` as Kafka's own tool says, for every group; without partitions for which the group has no offset. */
export async function kafkaToolLag(stack: Pick<Stack, 'endpoints'>): Promise<Record<string, number>> {
  const text = await describe(stack.endpoints().kafkaBrokers, ['--all-groups']);
  const groups = new Set([...text.matchAll(/^(\S+)\s+\S+\s+\d+\s+(?:\d+|-)\s/gm)].map(([, group = '']) => group));
  const rows = readToolOutput(text, [...groups]);
  return Object.fromEntries(
    rows.filter(({ lag }) => lag !== undefined).map(({ group, topic, partition, lag }) => [`${group}/${topic}/${partition}`, Number(lag)]),
  );
}

async function describe(brokers: string, which: string[]): Promise<string> {
  const { kafkaClassPath } = await embeddedJars(() => undefined);
  const tool = 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand';
  const args = [...jvmFlags(128), '-cp', kafkaClassPath, tool, '--bootstrap-server', brokers, '--describe', ...which];
  const { stdout } = await promisify(execFile)(javaCommand(), args);
  return stdout;
}

/** Rows of the tool's tables: GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG and more. */
export function readToolOutput(text: string, groups: readonly string[]): ToolLag[] {
  return text
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([first = '']) => groups.includes(first))
    .map(([group = '', topic = '', partition, committed, end, lag]) => ({
      group,
      topic,
      partition: Number(partition),
      committed: number(committed),
      end: number(end),
      lag: number(lag),
    }));
}

function number(word: string | undefined): bigint | undefined {
  return word === undefined || word === '-' ? undefined : BigInt(word);
}
