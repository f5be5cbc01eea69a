import OffsetManager from 'kafkajs/src/consumer/offsetManager/index.js';

export interface OffsetReset {
  memberId: string;
  topic: string;
  partition: number;
  /** Where the fetch position stood, outside the log. */
  from: bigint;
  /** First offset still kept. */
  to: bigint;
}

const listeners = new Set<(reset: OffsetReset) => void>();

/** Tells every reset of this process; returns the function that ends it. */
export function onOffsetReset(listener: (reset: OffsetReset) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * When a fetch position is not in the log any more, kafkajs commits the special offset -2 for the group, by itself and unseen, and fetches
 * from there. Committing is ours alone, and records may have been lost to retention: so only the fetch position moves, to the earliest
 * record, and whoever consumes is told.
 */
export function resetOffsetsInTheOpen(): void {
  OffsetManager.prototype.setDefaultOffset = async function setDefaultOffset(this: OffsetManager, { topic, partition }): Promise<void> {
    const committed = this.committedOffsets()[topic]?.[partition];
    const from = this.resolvedOffsets[topic]?.[partition] ?? committed ?? '0';
    const [answer] = await this.cluster.fetchTopicsOffset([{ topic, fromBeginning: true, partitions: [{ partition }] }]);
    const to = answer?.partitions[0]?.offset;
    if (to === undefined) throw new Error(`No earliest offset known of ${topic}/${partition}`);
    this.clearOffsets({ topic, partition });
    const offsets = this.committedOffsets()[topic];
    if (offsets !== undefined) offsets[partition] = to;
    const reset = { memberId: this.memberId, topic, partition, from: BigInt(from), to: BigInt(to) };
    for (const listener of listeners) listener(reset);
  };
}
