// kafkajs brings gzip only. The other three codecs of Kafka, from Node itself and two native packages.
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import kafkajs from 'kafkajs';
import lz4 from 'lz4-napi';
import snappy from 'snappy';

const { CompressionCodecs, CompressionTypes } = kafkajs;

/** Java's and librdkafka's snappy is a sequence of blocks behind this header ("xerial" framing); a bare block has none. */
const xerialMagic = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const xerialHeaderBytes = 16;

async function unsnappy(bytes: Buffer): Promise<Buffer> {
  if (!bytes.subarray(0, xerialMagic.length).equals(xerialMagic)) return (await snappy.uncompress(bytes)) as Buffer;
  const blocks: Buffer[] = [];
  for (let at = xerialHeaderBytes; at < bytes.length; ) {
    const size = bytes.readInt32BE(at);
    blocks.push((await snappy.uncompress(bytes.subarray(at + 4, at + 4 + size))) as Buffer);
    at += 4 + size;
  }
  return Buffer.concat(blocks);
}

interface Encoder {
  buffer: Buffer;
}

CompressionCodecs[CompressionTypes.Snappy] = () => ({ compress: ({ buffer }: Encoder) => snappy.compress(buffer), decompress: unsnappy });
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: ({ buffer }: Encoder) => lz4.compressFrame(buffer),
  decompress: (bytes: Buffer) => lz4.decompressFrame(bytes),
});
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async ({ buffer }: Encoder) => zstdCompressSync(buffer),
  decompress: async (bytes: Buffer) => zstdDecompressSync(bytes),
});

export const codecs = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
} as const;
