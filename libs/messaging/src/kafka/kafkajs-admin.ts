import type Broker from 'kafkajs/src/broker/index.js';
import type { RawMetadata } from 'kafkajs/src/protocol/requests/metadata/v6/response.js';
import type { BrokerPool } from './broker-pool.js';
import { protocolErrorType } from './client-errors.js';
import { BrokersUnavailable } from './errors.js';
import type { AdminPort, GroupDescription, LogSlice, NewTopic, RecordTime, TopicDescription, TopicPartitionOffset } from './ports.js';
import { readSlice } from './read-slice.js';
import { recordTime } from './record-times.js';

const timeoutMs = 30_000;
/** How long a broker may take over one administrative request. */
const brokerTimeoutMs = 10_000;
const earliest = -2;
const latest = -1;
const readUncommitted = 0;
const topicResource = 2;
const noGeneration = -1;
const noMember = '';
const unknownTopic = 3;
const noError = 0;
const noLeader = -1;
const dead = 'Dead';

type Leaders = Map<Broker, { topic: string; partition: number }[]>;

/** Administration of the named topics and groups over a broker pool of its own. */
export class KafkajsAdmin implements AdminPort {
  constructor(
    private readonly pool: BrokerPool,
    readonly close: () => Promise<void>,
  ) {}

  async brokerCount(): Promise<number> {
    const { brokers } = await this.pool.patiently('reading the list of brokers', timeoutMs, () => this.pool.metadata([]));
    return brokers.length;
  }

  async createTopics(topics: readonly NewTopic[], timeout = timeoutMs): Promise<{ created: string[]; existing: string[] }> {
    const existing = (await this.describeTopics(topics.map(({ topic }) => topic))).map(({ topic }) => topic);
    const missing = topics.filter(({ topic }) => !existing.includes(topic));
    if (missing.length > 0) {
      await this.pool.patiently('creating topics', timeout, async () => {
        const broker = await this.pool.any();
        await broker.createTopics({ topics: missing.map(newTopic), timeout: brokerTimeoutMs }).catch(unlessAllExist);
      });
    }
    await this.waitForLeaders(
      topics.map(({ topic }) => topic),
      timeout,
    );
    return { created: missing.map(({ topic }) => topic), existing };
  }

  async addPartitions(topics: readonly { topic: string; partitions: number }[]): Promise<void> {
    const topicPartitions = topics.map(({ topic, partitions }) => ({ topic, count: partitions }));
    await this.pool.patiently('adding partitions', timeoutMs, async () => {
      const broker = await this.pool.any();
      await broker.createPartitions({ topicPartitions, timeout: brokerTimeoutMs });
    });
  }

  async describeTopics(topics: readonly string[]): Promise<TopicDescription[]> {
    if (topics.length === 0) return [];
    const metadata = await this.pool.patiently('reading topic metadata', timeoutMs, () => this.pool.metadata(topics));
    return metadata.topicMetadata.filter(({ topicErrorCode }) => topicErrorCode !== unknownTopic).map(description);
  }

  async waitForLeaders(topics: readonly string[], timeout = timeoutMs): Promise<void> {
    await this.pool.patiently(`a leader for every partition of ${topics.join(', ')}`, timeout, async () => {
      const known = await this.describeTopics(topics);
      const ready = known.filter(({ partitions }) => partitions.length > 0 && partitions.every(({ leader }) => leader !== undefined));
      if (ready.length < topics.length) throw new BrokersUnavailable('not every partition has a leader');
    });
  }

  async topicConfigs(topics: readonly string[]): Promise<Map<string, Record<string, string>>> {
    const entries = await this.configEntries(topics);
    return new Map([...entries].map(([topic, list]) => [topic, Object.fromEntries(list.map(({ name, value }) => [name, value]))]));
  }

  /** The request replaces the whole configuration of the topic, so what was set before is read and sent along. */
  async setTopicConfig(topic: string, config: Record<string, string>): Promise<void> {
    const before = (await this.configEntries([topic])).get(topic) ?? [];
    const own = Object.fromEntries(before.filter(({ ownToTopic }) => ownToTopic).map(({ name, value }) => [name, value]));
    const configEntries = Object.entries({ ...own, ...config }).map(([name, value]) => ({ name, value }));
    await this.pool.patiently('changing a topic', timeoutMs, async () => {
      const broker = await this.pool.any();
      await broker.alterConfigs({ resources: [{ type: topicResource, name: topic, configEntries }] });
    });
  }

  async topicOffsets(topic: string): Promise<{ partition: number; low: bigint; high: bigint }[]> {
    const offsets = await this.offsetsOf([topic]);
    return offsets.map(({ partition, low, high }) => ({ partition, low, high }));
  }

  async offsetsOf(topics: readonly string[]): Promise<{ topic: string; partition: number; low: bigint; high: bigint }[]> {
    if (topics.length === 0) return [];
    return this.pool.patiently(`reading the offsets of ${topics.join(', ')}`, timeoutMs, async () => {
      const leaders = await this.leaders(topics);
      const [low, high] = await Promise.all([this.listOffsets(leaders, earliest), this.listOffsets(leaders, latest)]);
      const ends = new Map(high.map(({ topic, partition, offset }) => [`${topic}/${partition}`, offset]));
      return low
        .map(({ topic, partition, offset }) => ({ topic, partition, low: offset, high: ends.get(`${topic}/${partition}`) ?? offset }))
        .sort((a, b) => a.topic.localeCompare(b.topic) || a.partition - b.partition);
    });
  }

  async recordTimes(positions: readonly TopicPartitionOffset[]): Promise<RecordTime[]> {
    const topics = [...new Set(positions.map(({ topic }) => topic))];
    if (topics.length === 0) return [];
    return this.pool.patiently('reading record times', timeoutMs, async () => {
      const times: RecordTime[] = [];
      for (const [broker, led] of await this.leaders(topics)) {
        const asked = positions.filter(({ topic, partition }) => led.some((own) => own.topic === topic && own.partition === partition));
        // One after the other: kafkajs opens a connection of its own for fetches, and leaks all but one when several are first at once.
        for (const position of asked) times.push(...(await recordTime(broker, position)));
      }
      return times;
    });
  }

  readFrom(position: TopicPartitionOffset, maxBytes?: number): Promise<LogSlice | undefined> {
    const { topic, partition } = position;
    return this.pool.patiently(`reading ${topic}/${partition}`, timeoutMs, async () => {
      const led = [...(await this.leaders([topic]))].find(([, own]) => own.some((one) => one.partition === partition));
      if (led === undefined) throw new BrokersUnavailable('a partition has no leader');
      return readSlice(led[0], position, maxBytes);
    });
  }

  async groupOffsets(
    group: string,
    topics: readonly string[],
  ): Promise<{ topic: string; partition: number; offset: bigint | undefined }[]> {
    return this.pool.patiently(`reading the offsets of group ${group}`, timeoutMs, async () => {
      const described = await this.describeTopics(topics);
      const coordinator = await this.pool.coordinator(group);
      const asked = described.map(({ topic, partitions }) => ({ topic, partitions: partitions.map(({ partition }) => ({ partition })) }));
      if (asked.length === 0) return [];
      const { responses } = await coordinator.offsetFetch({ groupId: group, topics: asked });
      return responses.flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, offset }) => ({ topic, partition, offset: committed(offset) })),
      );
    });
  }

  /** As the command-line tool does it: without joining, which the coordinator allows only while the group has no members. */
  async setGroupOffsets(group: string, offsets: readonly TopicPartitionOffset[]): Promise<void> {
    if (offsets.length === 0) return;
    const topics = groupByTopic(offsets, ({ partition, offset }) => ({ partition, offset: offset.toString() }));
    await this.pool.patiently(`setting the offsets of group ${group}`, timeoutMs, async () => {
      const coordinator = await this.pool.coordinator(group);
      await coordinator.offsetCommit({ groupId: group, groupGenerationId: noGeneration, memberId: noMember, topics });
    });
  }

  async listGroups(): Promise<string[]> {
    return this.pool.patiently('listing groups', timeoutMs, async () => {
      const { brokers } = await this.pool.metadata([]);
      const answers = await Promise.all(brokers.map(async ({ host, port }) => (await this.pool.at(host, port)).listGroups()));
      return [...new Set(answers.flatMap(({ groups }) => groups.map(({ groupId }) => groupId)))].sort();
    });
  }

  describeGroups(groups: readonly string[]): Promise<GroupDescription[]> {
    return Promise.all(groups.map((group) => this.describeGroup(group)));
  }

  async deleteTopics(topics: readonly string[]): Promise<void> {
    await this.pool.patiently('deleting topics', timeoutMs, async () => {
      const broker = await this.pool.any();
      await broker.deleteTopics({ topics, timeout: brokerTimeoutMs });
    });
  }

  async deleteRecords(topic: string, partitions: readonly { partition: number; before: bigint }[]): Promise<void> {
    await this.pool.patiently(`deleting records of ${topic}`, timeoutMs, async () => {
      for (const [broker, led] of await this.leaders([topic])) {
        const asked = partitions.filter(({ partition }) => led.some((own) => own.partition === partition));
        if (asked.length === 0) continue;
        const cuts = asked.map(({ partition, before }) => ({ partition, offset: before.toString() }));
        await broker.deleteRecords({ topics: [{ topic, partitions: cuts }], timeout: brokerTimeoutMs });
      }
    });
  }

  /** What this client cannot read is said so, not taken for an empty group. */
  private async describeGroup(group: string): Promise<GroupDescription> {
    try {
      return await this.pool.patiently(`describing group ${group}`, timeoutMs, async () => {
        const coordinator = await this.pool.coordinator(group);
        const { groups } = await coordinator.describeGroups({ groupIds: [group] });
        const found = groups.find(({ groupId }) => groupId === group);
        const members = (found?.members ?? []).map(({ memberId, clientId }) => ({ memberId, clientId }));
        const state = found?.state ?? dead;
        // A group of the newer protocol is called dead here, though it is listed among the living.
        const living = state === dead && (await this.listGroups()).includes(group);
        return { group, state: living ? 'Unreadable (newer group protocol)' : state, members };
      });
    } catch (error) {
      const type = protocolErrorType(error);
      if (type === undefined || error instanceof BrokersUnavailable) throw error;
      return { group, state: `Unreadable (${type})`, members: [] };
    }
  }

  private async configEntries(topics: readonly string[]): Promise<Map<string, { name: string; value: string; ownToTopic: boolean }[]>> {
    if (topics.length === 0) return new Map();
    return this.pool.patiently('reading topic configuration', timeoutMs, async () => {
      const broker = await this.pool.any();
      const { resources } = await broker.describeConfigs({ resources: topics.map((name) => ({ type: topicResource, name })) });
      return new Map(
        resources.map(({ resourceName, configEntries }) => [
          resourceName,
          configEntries.map(({ configName, configValue, configSource }) => ({
            name: configName,
            value: configValue ?? '',
            ownToTopic: configSource === 1,
          })),
        ]),
      );
    });
  }

  private async leaders(topics: readonly string[]): Promise<Leaders> {
    const metadata = await this.pool.metadata(topics);
    const leaders: Leaders = new Map();
    for (const { topic, partitionMetadata } of metadata.topicMetadata) {
      for (const { partitionId, leader } of partitionMetadata) {
        const broker = await this.brokerOf(metadata, leader);
        const list = leaders.get(broker);
        const entry = { topic, partition: partitionId };
        if (list === undefined) leaders.set(broker, [entry]);
        else list.push(entry);
      }
    }
    return leaders;
  }

  private brokerOf({ brokers }: RawMetadata, nodeId: number): Promise<Broker> {
    const where = brokers.find((broker) => broker.nodeId === nodeId);
    if (where === undefined) throw new BrokersUnavailable('a partition has no leader');
    return this.pool.at(where.host, where.port);
  }

  private async listOffsets(leaders: Leaders, timestamp: number): Promise<TopicPartitionOffset[]> {
    const answers = await Promise.all(
      [...leaders].map(async ([broker, partitions]) => {
        const asked = groupByTopic(partitions, ({ partition }) => ({ partition, timestamp }));
        const { responses } = await broker.listOffsets({ isolationLevel: readUncommitted, topics: asked });
        return responses.flatMap((answer) =>
          answer.partitions.map(({ partition, offset }) => ({ topic: answer.topic, partition, offset: BigInt(offset) })),
        );
      }),
    );
    return answers.flat();
  }
}

function groupByTopic<T extends { topic: string }, P>(items: readonly T[], entry: (item: T) => P): { topic: string; partitions: P[] }[] {
  const topics = new Map<string, P[]>();
  for (const item of items) {
    const list = topics.get(item.topic);
    if (list === undefined) topics.set(item.topic, [entry(item)]);
    else list.push(entry(item));
  }
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }));
}

function newTopic({ topic, partitions, replication, config = {} }: NewTopic): Record<string, unknown> {
  const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
  return { topic, numPartitions: partitions, replicationFactor: replication, configEntries };
}

/** Another starter created them in the meantime. */
function unlessAllExist(error: Error & { errors?: { type?: string }[] }): void {
  if (error.errors?.every(({ type }) => type === 'TOPIC_ALREADY_EXISTS') !== true) throw error;
}

function description({ topic, topicErrorCode, partitionMetadata }: RawMetadata['topicMetadata'][number]): TopicDescription {
  const partitions = topicErrorCode === noError ? partitionMetadata : [];
  return {
    topic,
    partitions: partitions
      .map(({ partitionId, leader, replicas, isr }) => ({
        partition: partitionId,
        leader: leader === noLeader ? undefined : leader,
        replicas,
        isr,
      }))
      .sort((a, b) => a.partition - b.partition),
  };
}

/** A group that never committed has -1; other negative numbers are not positions either. */
function committed(offset: string): bigint | undefined {
  const value = BigInt(offset);
  return value < 0n ? undefined : value;
}
