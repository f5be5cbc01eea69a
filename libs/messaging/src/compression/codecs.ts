import { promisify } from 'node:util';
import { gunzip, gzip, zstdCompress, zstdDecompress } from 'node:zlib';
import kafkajs from 'kafkajs';
import lz4 from 'lz4-napi';
import snappy from 'snappy';
import { snappyBlocks, xerialStream } from './xerial.js';

/** kafkajs hands its encoder in and wants bytes back; decompression gets and gives bytes. */
export interface Codec {
  compress(encoder: { buffer: Buffer }): Promise<Buffer>;
  decompress(buffer: Buffer): Promise<Buffer>;
}

const gzipAsync = promisify<Buffer, Buffer>(gzip);
const gunzipAsync = promisify<Buffer, Buffer>(gunzip);
const zstdCompressAsync = promisify<Buffer, Buffer>(zstdCompress);
const zstdDecompressAsync = promisify<Buffer, Buffer>(zstdDecompress);

async function unsnap(block: Buffer): Promise<Buffer> {
  return (await snappy.uncompress(block, { asBuffer: true })) as Buffer;
}

export const codecs = {
  gzip: {
    compress: ({ buffer }) => gzipAsync(buffer),
    decompress: (buffer) => gunzipAsync(buffer),
  },
  snappy: {
    compress: async ({ buffer }) => xerialStream(await snappy.compress(buffer)),
    decompress: async (buffer) => {
      const blocks = await Promise.all(snappyBlocks(buffer).map(unsnap));
      return blocks.length === 1 && blocks[0] !== undefined ? blocks[0] : Buffer.concat(blocks);
    },
  },
  lz4: {
    compress: ({ buffer }) => lz4.compressFrame(buffer),
    decompress: (buffer) => lz4.decompressFrame(buffer),
  },
  zstd: {
    compress: ({ buffer }) => zstdCompressAsync(buffer),
    decompress: (buffer) => zstdDecompressAsync(buffer),
  },
} as const satisfies Record<string, Codec>;

/**
 * Teaches kafkajs every codec that Kafka knows. Without this, one foreign record in snappy, lz4 or zstd ends the consumer. The registry is
 * global to the process, so calling it again changes nothing.
 */
export function registerCodecs(): void {
  const { CompressionCodecs, CompressionTypes } = kafkajs;
  CompressionCodecs[CompressionTypes.GZIP] = () => codecs.gzip;
  CompressionCodecs[CompressionTypes.Snappy] = () => codecs.snappy;
  CompressionCodecs[CompressionTypes.LZ4] = () => codecs.lz4;
  CompressionCodecs[CompressionTypes.ZSTD] = () => codecs.zstd;
}
