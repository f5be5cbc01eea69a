/**
 * Snappy has two spellings in Kafka: a bare block (librdkafka, Go), and the stream of blocks that the Java client's xerial library writes:
 * an 8-byte magic, two 4-byte versions, then (4-byte length, block) until the end.
 */
const magic = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const headerBytes = magic.length + 8;
const lengthBytes = 4;
const version = 1;

/** The blocks of a xerial stream, or the whole buffer as the only block when it carries no magic. @throws RangeError on a cut-off stream. */
export function snappyBlocks(buffer: Buffer): Buffer[] {
  if (buffer.length < headerBytes || !buffer.subarray(0, magic.length).equals(magic)) return [buffer];
  const blocks: Buffer[] = [];
  let at = headerBytes;
  while (at < buffer.length) {
    const start = at + lengthBytes;
    const end = start + buffer.readUInt32BE(at);
    if (end > buffer.length) throw new RangeError('A snappy stream ends inside a block');
    blocks.push(buffer.subarray(start, end));
    at = end;
  }
  return blocks;
}

/** Wraps one compressed block as a xerial stream, the spelling that every Kafka client reads. */
export function xerialStream(block: Buffer): Buffer {
  const header = Buffer.alloc(headerBytes + lengthBytes);
  magic.copy(header);
  header.writeInt32BE(version, magic.length);
  header.writeInt32BE(version, magic.length + 4);
  header.writeUInt32BE(block.length, headerBytes);
  return Buffer.concat([header, block]);
}
