import kafkajs from 'kafkajs';

type Choose = ReturnType<typeof kafkajs.Partitioners.DefaultPartitioner>;

/** kafkajs changed its default once, so the partitioner that other client families share (murmur2 of the key) is taken by name. */
const choose: Choose = kafkajs.Partitioners.DefaultPartitioner();
const anyLeader = { partitionErrorCode: 0, leader: 0, replicas: [], isr: [] };
const metadataOf = new Map<number, Parameters<Choose>[0]['partitionMetadata']>();

/** The partition that the Java client's default also chooses; records without key are spread. */
export function partitionFor(topic: string, key: Buffer | null, partitions: number): number {
  let partitionMetadata = metadataOf.get(partitions);
  if (partitionMetadata === undefined) {
    partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({ ...anyLeader, partitionId }));
    metadataOf.set(partitions, partitionMetadata);
  }
  return choose({ topic, partitionMetadata, message: { key, value: null } });
}

/** A record was routed to a partition that the topic does not have (any more). */
export class UnknownPartition extends Error {
  /** Tells the client's retrier that trying the same again is useless. */
  readonly retriable = false;
  readonly type = 'UNKNOWN_TOPIC_OR_PARTITION';
  constructor(
    readonly topic: string,
    partition: number,
  ) {
    super(`Topic ${topic} has no partition ${partition}`);
    this.name = 'UnknownPartition';
  }
}

/**
 * For kafkajs, which sees every record again before it is sent. Partitions are chosen by us beforehand; kafkajs would drop a record for a
 * partition that does not exist and report success, so that is refused here.
 */
export function chosenPartition(args: { topic: string; partitionMetadata: unknown[]; message: { partition?: number } }): number {
  const { topic, partitionMetadata, message } = args;
  const partition = message.partition ?? -1;
  if (partition < 0 || partition >= partitionMetadata.length) throw new UnknownPartition(topic, partition);
  return partition;
}
