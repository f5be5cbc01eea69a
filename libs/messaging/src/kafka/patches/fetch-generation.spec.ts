import { describe, expect, it } from '@jest/globals';
import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js';
import type OffsetManager from 'kafkajs/src/consumer/offsetManager/index.js';
import { bindFetchesToTheirGeneration } from './fetch-generation.js';

const positions = (): OffsetManager =>
  ({ committedOffsets: () => ({ leads: { 0: '5' } }), nextOffset: () => '5' }) as unknown as OffsetManager;

/** A group member of one partition; `during` runs while its fetch is under way. */
function member(during: (group: ConsumerGroup) => void): ConsumerGroup {
  const message = { offset: '5', isControlRecord: false };
  const partitionData = { partition: 0, highWatermark: '6', abortedTransactions: [], messages: [message] };
  const group = Object.assign(Object.create(ConsumerGroup.prototype) as ConsumerGroup, {
    offsetManager: positions(),
    preferredReadReplicasPerTopicPartition: {},
    seekOffset: { has: () => false },
    subscriptionState: { assigned: () => [{ topic: 'leads', partitions: [0] }], isPaused: () => false },
    checkForStaleAssignment: () => undefined,
    seekOffsets: () => Promise.resolve(),
    filterPartitionsByNode: (_node: string, partitions: unknown) => partitions,
    getActiveTopicPartitions: () => ({ leads: new Set([0]) }),
    cluster: {
      refreshMetadataIfNecessary: () => Promise.resolve(),
      findBroker: () =>
        Promise.resolve({
          fetch: () => {
            during(group);
            return Promise.resolve({ responses: [{ topicName: 'leads', partitions: [partitionData] }] });
          },
        }),
    },
  });
  return group;
}

const rejoin = (group: ConsumerGroup): void => {
  group.offsetManager = positions();
};

describe('a fetch that outlives its assignment', () => {
  it('is still the fault that the patch is for: kafkajs hands its batches to the next assignment', async () => {
    expect(await member(rejoin).fetch('1')).toHaveLength(1);
  });

  it('is dropped, because its batches begin at positions that count no more', async () => {
    bindFetchesToTheirGeneration();
    expect(await member(rejoin).fetch('1')).toEqual([]);
  });

  it('is kept within its assignment and carries the offsets to commit under', async () => {
    bindFetchesToTheirGeneration();
    const group = member(() => undefined);
    const [batch] = await group.fetch('1');
    expect(batch?.positions).toBe(group.offsetManager);
    expect(batch?.messages).toHaveLength(1);
  });
});
