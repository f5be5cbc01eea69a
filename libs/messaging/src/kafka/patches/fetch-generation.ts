import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js';

const original = ConsumerGroup.prototype.fetch;

/**
 * With several brokers, one fetch can be under way while the answer to another one makes the member rejoin. Its batches then start at the
 * positions of the assignment before, and resolving them would jump the new positions over records that were never handed out. Such
 * batches are dropped. The others carry the offset manager of their assignment, so that a commit is always made under the generation that
 * fetched the records: a broker refuses it once that generation is over.
 */
export function bindFetchesToTheirGeneration(): void {
  ConsumerGroup.prototype.fetch = async function fetch(this: ConsumerGroup, nodeId) {
    const positions = this.offsetManager;
    const batches = await original.call(this, nodeId);
    if (positions === null || this.offsetManager !== positions) return [];
    for (const batch of batches) batch.positions = positions;
    return batches;
  };
}
