import { describe, expect, it } from '@jest/globals';
import { chosenPartition, partitionFor, UnknownPartition } from './partitioner.js';

/** Partition of each key among 12, printed by the Java client 4.4.0: toPositive(murmur2(key)) % 12. */
const java: [string, number][] = [
  ['a', 4],
  ['1', 3],
  ['lead-1', 1],
  ['lead-2', 3],
  ['L-ABCDEFGHIJKLMNOP', 11],
  ['ada@example.test', 7],
  ['v1:0af7651916cd43dd', 0],
  ['é', 3],
  ['你好', 0],
  ['😀', 9],
  ['0000000000000000', 6],
  ['zzzzzzzz', 7],
  ['key-1', 0],
  ['key-12', 8],
  ['key-123', 0],
  ['key-1234', 0],
  ['key-12345', 9],
  ['+12025550123', 1],
  ['the quick brown fox', 1],
  ['x'.repeat(40), 8],
];

describe('partitioner', () => {
  it.each(java)('puts the key %s where the Java client puts it', (key, partition) => {
    expect(partitionFor('t', Buffer.from(key), 12)).toBe(partition);
  });

  it('treats an empty key as a key and spreads records without one', () => {
    expect(partitionFor('t', Buffer.alloc(0), 12)).toBe(partitionFor('t', Buffer.alloc(0), 12));
    const spread = new Set(Array.from({ length: 12 }, () => partitionFor('spread', null, 12)));
    expect(spread.size).toBeGreaterThan(1);
  });

  it('refuses a partition that the topic does not have', () => {
    const partitionMetadata = [{}, {}];
    expect(chosenPartition({ topic: 't', partitionMetadata, message: { partition: 1 } })).toBe(1);
    expect(() => chosenPartition({ topic: 't', partitionMetadata, message: { partition: 2 } })).toThrow(UnknownPartition);
    expect(() => chosenPartition({ topic: 't', partitionMetadata, message: {} })).toThrow('no partition -1');
  });
});
