import type { Socket } from 'node:net';
import type { Logger } from '#runtime';
import type { ConsumedRecord } from '../consumer/record.js';

/** A record on its way out. Headers are text (UTF-8) or bytes; the partition follows from the key (murmur2) unless it is given. */
export interface OutgoingRecord {
  topic: string;
  key: Buffer | null;
  value: Buffer | null;
  headers?: Record<string, string | Buffer>;
  partition?: number;
}

/**
 * Publishes with acks=all and at most one request in flight per partition; never idempotent, so a record can appear twice, never be lost
 * unseen. A send that failed leaves no state behind: the next one uses fresh connections.
 */
export interface ProducerPort {
  /**
   * Resolves once every record is acknowledged. Records of one partition keep their order.
   * @throws ProduceRefused when a broker refused the request, BrokersUnavailable when no answer came within the bounded retries. After
   *   either, any subset of the records may be in the log.
   */
  send(records: readonly OutgoingRecord[]): Promise<void>;
  close(): Promise<void>;
}

export interface TopicPartitionOffset {
  topic: string;
  partition: number;
  offset: bigint;
}

export interface RecordTime extends TopicPartitionOffset {
  /** Epoch milliseconds, as the producer or the broker wrote it. */
  timestampMs: number;
}

/** A piece of a partition, read without joining a group. */
export interface LogSlice {
  records: ConsumedRecord[];
  /** Offset after the last of them; undefined: there is no record from there on. */
  next: bigint | undefined;
}

export interface NewTopic {
  topic: string;
  partitions: number;
  replication: number;
  config?: Record<string, string>;
}

export interface TopicDescription {
  topic: string;
  partitions: { partition: number; leader: number | undefined; replicas: number[]; isr: number[] }[];
}

export interface GroupDescription {
  group: string;
  /** Empty, Stable, PreparingRebalance, CompletingRebalance, Dead; other words for group types this client cannot read. */
  state: string;
  members: { memberId: string; clientId: string }[];
}

/** What topology, lag and start-up checks need. Every call asks for the named topics only, never for the whole cluster's. */
export interface AdminPort {
  /** Brokers that are up. */
  brokerCount(): Promise<number>;
  /** Creates what is missing and waits until every named topic has a leader for each partition. Existing topics are left as they are. */
  createTopics(topics: readonly NewTopic[], timeoutMs?: number): Promise<{ created: string[]; existing: string[] }>;
  /** Grows topics to the given partition counts. */
  addPartitions(topics: readonly { topic: string; partitions: number }[]): Promise<void>;
  /** Unknown topics are left out of the answer. */
  describeTopics(topics: readonly string[]): Promise<TopicDescription[]>;
  /** Effective configuration by topic and key, e.g. `retention.ms`. */
  topicConfigs(topics: readonly string[]): Promise<Map<string, Record<string, string>>>;
  setTopicConfig(topic: string, config: Record<string, string>): Promise<void>;
  /** @throws BrokersUnavailable when a partition is still without leader after timeoutMs (default 30,000). */
  waitForLeaders(topics: readonly string[], timeoutMs?: number): Promise<void>;
  /** First offset kept (`low`) and next offset to be written (`high`) of every partition. */
  topicOffsets(topic: string): Promise<{ partition: number; low: bigint; high: bigint }[]>;
  /**
   * Records from an offset on, about `maxBytes` of them at most (default 512 KiB), without a group. One call after the other. Undefined where
   * the log does not hold the offset (any more).
   */
  readFrom(position: TopicPartitionOffset, maxBytes?: number): Promise<LogSlice | undefined>;
  /** When the records at these offsets were written; what is not in the log any more is left out. */
  recordTimes(positions: readonly TopicPartitionOffset[]): Promise<RecordTime[]>;
  /** The same as `topicOffsets` for several topics in few requests; unknown topics are left out. */
  offsetsOf(topics: readonly string[]): Promise<{ topic: string; partition: number; low: bigint; high: bigint }[]>;
  /** Committed offset of every partition of the topics; `undefined` where the group has none. */
  groupOffsets(group: string, topics: readonly string[]): Promise<{ topic: string; partition: number; offset: bigint | undefined }[]>;
  /** The group must have no members. */
  setGroupOffsets(group: string, offsets: readonly TopicPartitionOffset[]): Promise<void>;
  listGroups(): Promise<string[]>;
  describeGroups(groups: readonly string[]): Promise<GroupDescription[]>;
  deleteTopics(topics: readonly string[]): Promise<void>;
  /** Removes everything before the given offsets. */
  deleteRecords(topic: string, partitions: readonly { partition: number; before: bigint }[]): Promise<void>;
  close(): Promise<void>;
}

export interface KafkaOptions {
  brokers: readonly string[];
  clientId: string;
  ssl?: { ca?: string[] } | boolean;
  sasl?: { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string };
  logger: Logger;
  /** Of one connect and of the first question after it. Default 5,000. */
  connectTimeoutMs?: number;
  /** Default 30,000 (a producer's own limit is 15,000): how long one request may wait for its answer. */
  requestTimeoutMs?: number;
  /** Opens the connections, for tests that break them. Default: TCP or TLS. */
  openSocket?(where: { host: string; port: number; ssl: object | undefined; onConnect(): void }): Socket;
}

export interface ConsumerPortOptions {
  group: string;
  topics: readonly string[];
  sessionTimeoutMs: number;
  /** Longest wait of one fetch, also the longest time until a resumed partition is fetched again while all others are idle. Default 1,000. */
  maxWaitMs?: number;
  maxBytesPerPartition?: number;
  /** How soon new partitions of a topic are noticed. Default 60,000. */
  metadataMaxAgeMs?: number;
  on: ConsumerEvents;
}

export interface FetchedRecord {
  offset: string;
  key: Buffer | null;
  value: Buffer | null;
  headers?: Record<string, Buffer | string | (Buffer | string)[] | undefined>;
  timestamp: string;
}

export interface FetchedBatch {
  topic: string;
  partition: number;
  records: readonly FetchedRecord[];
  /** Where the fetch position stands after this batch (past control records too). */
  nextOffset: number;
  /** Next offset to be written to the partition, as of this fetch. */
  highWatermark: number;
  /** Commits exactly these offsets under the generation that fetched the batch; one try, rejects when that generation is over. */
  commit(offsets: readonly TopicPartitionOffset[]): Promise<void>;
  /** Sends a heartbeat when one is due. Rejects when the group rebalances. */
  heartbeat(): Promise<void>;
}

export interface ConsumerEvents {
  /** A generation began: everything known of the one before is void. */
  assigned(assignment: Record<string, number[]>): void;
  /** The group is about to rebalance; commits of the running generation may still get through. */
  revoking(): void;
  /** A batch was fetched. Its records are already resolved, i.e. will not be fetched again in this generation. Rejecting ends the fetch loop. */
  batch(batch: FetchedBatch): Promise<void>;
  /** The fetch position was not in the log any more and was moved; nothing was committed. */
  offsetReset(reset: { topic: string; partition: number; from: bigint; to: bigint }): void;
  /** The fetch loop ended by itself; the client is disconnected already and will not restart. */
  crashed(error: Error): void;
  /** The fetch loop went round (a fetch was sent, or all partitions are paused). */
  alive(): void;
}

/** One member of a group. Nothing is ever committed except through `FetchedBatch.commit`. */
export interface ConsumerPort {
  start(): Promise<void>;
  pause(topic: string, partitions: readonly number[]): void;
  resume(topic: string, partitions: readonly number[]): void;
  /** Leaves the group and disconnects. */
  stop(): Promise<void>;
}

/** The only door to a Kafka client. Everything else in the product knows these ports alone. */
export interface KafkaPort {
  readonly clientId: string;
  producer(): Promise<ProducerPort>;
  consumer(options: ConsumerPortOptions): ConsumerPort;
  admin(): Promise<AdminPort>;
  /** Closes every port that is still open. */
  close(): Promise<void>;
}
