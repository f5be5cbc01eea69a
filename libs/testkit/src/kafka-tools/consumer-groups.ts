import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { embeddedJars } from '../infra/downloads.js';
import { javaCommand, jvmFlags } from '../infra/java.js';

/** A line of `kafka-consumer-groups --describe`; what it prints as `-` is undefined. */
export interface ToolLag {
  topic: string;
  partition: number;
  committed: bigint | undefined;
  end: bigint | undefined;
  lag: bigint | undefined;
}

/** What Kafka's own command-line tool says about a group. Takes a second: it starts a JVM. Throws when the tool fails. */
export async function lagByKafkaTool(brokers: string, group: string): Promise<ToolLag[]> {
  const { kafkaClassPath } = await embeddedJars(() => undefined);
  const tool = 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand';
  const args = [...jvmFlags(128), '-cp', kafkaClassPath, tool, '--bootstrap-server', brokers, '--describe', '--group', group];
  const { stdout } = await promisify(execFile)(javaCommand(), args);
  return readToolOutput(stdout, group);
}

/** Rows of the tool's table: GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG and more. */
export function readToolOutput(text: string, group: string): ToolLag[] {
  return text
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((words) => words[0] === group)
    .map(([, topic = '', partition, committed, end, lag]) => ({
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
