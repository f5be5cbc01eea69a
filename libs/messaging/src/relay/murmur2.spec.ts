import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import kafkajs from 'kafkajs';
import { murmur2, partitionOf } from './murmur2.js';

describe('the partition of a key', () => {
  // Values of org.apache.kafka.common.utils.UtilsTest.testMurmur2.
  it.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ])('hashes %s as Java does', (key, hash) => {
    expect(murmur2(Buffer.from(key))).toBe(hash);
  });

  it('is the one that kafkajs takes by default, for any bytes and any number of partitions', () => {
    const choose = kafkajs.Partitioners.DefaultPartitioner();
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 70 }), fc.integer({ min: 1, max: 50 }), (bytes, partitions) => {
        const key = Buffer.from(bytes);
        const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
          partitionId,
          partitionErrorCode: 0,
          leader: 0,
          replicas: [],
          isr: [],
        }));
        expect(partitionOf(key, partitions)).toBe(choose({ topic: 't', partitionMetadata, message: { key, value: null } }));
      }),
      { numRuns: 1_000 },
    );
  });
});
