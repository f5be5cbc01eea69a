import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import kafkajs from 'kafkajs';
import snappy from 'snappy';
import { codecs, registerCodecs } from './codecs.js';

describe('compression codecs', () => {
  it.each(Object.keys(codecs) as (keyof typeof codecs)[])('%s gives back every byte', async (name) => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 5_000 }), fc.integer({ min: 1, max: 40 }), async (bytes, times) => {
        const buffer = Buffer.concat(Array.from({ length: times }, () => Buffer.from(bytes)));
        const packed = await codecs[name].compress({ buffer });
        expect((await codecs[name].decompress(packed)).equals(buffer)).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  it('reads a bare snappy block, as librdkafka may write it', async () => {
    const text = Buffer.from('one lead after another, one lead after another');
    expect((await codecs.snappy.decompress(await snappy.compress(text))).equals(text)).toBe(true);
  });

  it('reads a xerial stream of several blocks, as the Java client writes it', async () => {
    const [first, second] = [await snappy.compress('first '), await snappy.compress('second')];
    const length = (block: Buffer) => Buffer.from([0, 0, 0, block.length]);
    const header = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
    const stream = Buffer.concat([header, length(first), first, length(second), second]);
    expect((await codecs.snappy.decompress(stream)).toString()).toBe('first second');
  });

  it('refuses a xerial stream that is cut off inside a block', async () => {
    const packed = await codecs.snappy.compress({ buffer: Buffer.from('cut me off please, cut me off') });
    await expect(codecs.snappy.decompress(packed.subarray(0, packed.length - 3))).rejects.toThrow('inside a block');
  });

  it('leaves no codec of Kafka unknown to the client', () => {
    registerCodecs();
    const { CompressionCodecs, CompressionTypes } = kafkajs;
    for (const type of [CompressionTypes.GZIP, CompressionTypes.Snappy, CompressionTypes.LZ4, CompressionTypes.ZSTD]) {
      expect((CompressionCodecs as Record<number, () => unknown>)[type]?.()).toHaveProperty('decompress');
    }
  });
});
