import crc32C from 'kafkajs/src/protocol/recordBatch/crc32C/crc32C.js';

/** One record as a producer hands it to kafkajs. */
export interface BatchedMessage {
  key?: Buffer | string | null;
  value: Buffer | string | null;
  headers?: Readonly<Record<string, Buffer | string | null | readonly (Buffer | string | null)[]>>;
  timestamp?: string;
}

type Bytes = Buffer | string | null | undefined;

/** Offset, length, epoch, magic and checksum; then attributes, last offset, two times, producer, sequence and the number of records. */
const headBytes = 21;
const fieldsBytes = 40;
const magic = 2;
const zeroVarints = 2;

/** What is neither text nor bytes has no length, and the batch is then refused as a whole. */
function lengthOf(bytes: Bytes): number {
  if (bytes === null || bytes === undefined) return -1;
  return typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length;
}

/** Of a whole number that is not negative, as Kafka writes it (zigzag). */
function varintBytes(value: number): number {
  if (value < 64) return 1;
  if (value < 8_192) return 2;
  if (value < 1_048_576) return 3;
  return value < 134_217_728 ? 4 : 5;
}

const lengthAndBytes = (length: number): number => (length < 0 ? 1 : varintBytes(length) + length);

function eachHeader({ headers }: BatchedMessage, visit: (name: string, value: Bytes) => void): void {
  for (const name in headers) {
    const value = headers[name];
    if (Array.isArray(value)) for (const one of value) visit(name, one);
    else visit(name, value as Bytes);
  }
}

/** Bytes of a record behind its own length. */
function bodyBytes(message: BatchedMessage, offset: number): number {
  let headers = 0;
  let bytes = zeroVarints + varintBytes(offset) + lengthAndBytes(lengthOf(message.key)) + lengthAndBytes(lengthOf(message.value));
  eachHeader(message, (name, value) => {
    headers += 1;
    bytes += lengthAndBytes(Buffer.byteLength(name)) + lengthAndBytes(lengthOf(value));
  });
  return bytes + varintBytes(headers);
}

/** Writes into a buffer that is known to be large enough. */
class Writer {
  at = 0;
  constructor(readonly buffer: Buffer) {}

  int64(value: number): void {
    const high = Math.floor(value / 0x1_0000_0000);
    this.at = this.buffer.writeInt32BE(high, this.at);
    this.at = this.buffer.writeUInt32BE(value - high * 0x1_0000_0000, this.at);
  }

  varint(value: number): void {
    let rest = value * 2;
    while (rest >= 128) {
      this.buffer[this.at++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    this.buffer[this.at++] = rest;
  }

  bytes(bytes: Bytes): void {
    const length = lengthOf(bytes);
    // -1 in zigzag: there is nothing, which is not the same as nothing in it.
    if (length < 0) this.buffer[this.at++] = 1;
    else {
      this.varint(length);
      if (typeof bytes === 'string') this.at += this.buffer.write(bytes, this.at);
      else if (bytes !== null && bytes !== undefined) this.at += bytes.copy(this.buffer, this.at);
    }
  }

  record(message: BatchedMessage, offset: number, size: number): void {
    this.varint(size);
    // Attributes, and no time after that of the batch.
    this.buffer[this.at++] = 0;
    this.buffer[this.at++] = 0;
    this.varint(offset);
    this.bytes(message.key);
    this.bytes(message.value);
    let headers = 0;
    eachHeader(message, () => (headers += 1));
    this.varint(headers);
    eachHeader(message, (name, value) => {
      this.bytes(name);
      this.bytes(value);
    });
  }
}

/**
 * A record batch (v2) without compression, of a producer that is not idempotent. `timestampMs`: time of all its records, in epoch milliseconds.
 * @throws RangeError where a key, value or header is neither text nor bytes.
 */
export function recordBatch(messages: readonly BatchedMessage[], timestampMs: number): Buffer {
  const sizes = messages.map(bodyBytes);
  const recordsBytes = sizes.reduce((sum, size) => sum + varintBytes(size) + size, 0);
  const writer = new Writer(Buffer.allocUnsafe(headBytes + fieldsBytes + recordsBytes));
  const { buffer } = writer;
  writer.int64(0);
  writer.at = buffer.writeInt32BE(buffer.length - 12, writer.at);
  writer.at = buffer.writeInt32BE(0, writer.at);
  writer.at = buffer.writeInt8(magic, writer.at);
  writer.at = headBytes;
  writer.at = buffer.writeInt16BE(0, writer.at);
  writer.at = buffer.writeInt32BE(messages.length - 1, writer.at);
  writer.int64(timestampMs);
  writer.int64(timestampMs);
  writer.int64(-1);
  writer.at = buffer.writeInt16BE(0, writer.at);
  writer.at = buffer.writeInt32BE(0, writer.at);
  writer.at = buffer.writeInt32BE(messages.length, writer.at);
  for (const [offset, message] of messages.entries()) writer.record(message, offset, sizes[offset] ?? 0);
  buffer.writeUInt32BE(crc32C(buffer.subarray(headBytes)), headBytes - 4);
  return buffer;
}
