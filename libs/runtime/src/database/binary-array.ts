/** PostgreSQL element types that columns are sent as. */
export type ElementType = 'bool' | 'bytea' | 'float8' | 'int2' | 'int4' | 'int8' | 'json' | 'jsonb' | 'text' | 'timestamptz' | 'uuid';

/** How an element lies in the wire format. `write` gives the offset behind what it wrote. */
interface Element {
  oid: number;
  bytes(value: never): number;
  write(buffer: Buffer, value: never, at: number): number;
}

const postgresEpochMs = Date.UTC(2000, 0, 1);

const element = <Value>(
  oid: number,
  bytes: (value: Value) => number,
  write: (buffer: Buffer, value: Value, at: number) => number,
): Element => ({
  oid,
  bytes,
  write,
});
const fixed = <Value>(oid: number, bytes: number, write: (buffer: Buffer, value: Value, at: number) => number): Element =>
  element<Value>(oid, () => bytes, write);
const text = (oid: number): Element => element<string>(oid, Buffer.byteLength, (buffer, value, at) => at + buffer.write(value, at, 'utf8'));

const elements: Record<ElementType, Element> = {
  bool: fixed<boolean>(16, 1, (buffer, value, at) => buffer.writeUInt8(value ? 1 : 0, at)),
  bytea: element<Buffer>(
    17,
    (value) => value.length,
    (buffer, value, at) => at + value.copy(buffer, at),
  ),
  float8: fixed<number>(701, 8, (buffer, value, at) => buffer.writeDoubleBE(value, at)),
  int2: fixed<number>(21, 2, (buffer, value, at) => buffer.writeInt16BE(value, at)),
  int4: fixed<number>(23, 4, (buffer, value, at) => buffer.writeInt32BE(value, at)),
  int8: fixed<bigint | number>(20, 8, (buffer, value, at) => buffer.writeBigInt64BE(BigInt(value), at)),
  json: text(114),
  // One version byte, then the text.
  jsonb: element<string>(
    3802,
    (value) => 1 + Buffer.byteLength(value),
    (buffer, value, at) => buffer.writeUInt8(1, at) + buffer.write(value, at + 1, 'utf8'),
  ),
  text: text(25),
  // Microseconds as two halves: in milliseconds a double is exact, and no bigint is made per value.
  timestamptz: fixed<Date>(1184, 8, (buffer, value, at) => {
    const micros = (value.getTime() - postgresEpochMs) * 1_000;
    const high = Math.floor(micros / 0x1_0000_0000);
    return buffer.writeUInt32BE(micros - high * 0x1_0000_0000, buffer.writeInt32BE(high, at));
  }),
  uuid: fixed<string>(2950, 16, writeUuid),
};

const digit = (code: number): number => (code <= 57 ? code - 48 : (code | 32) - 87);

/** Several times faster than taking the hyphens out and decoding hex, and there are many ids per lead. */
function writeUuid(buffer: Buffer, value: string, at: number): number {
  let next = at;
  for (let index = 0; index < value.length; index += 2) {
    if (value.charCodeAt(index) === 45) index += 1;
    buffer[next] = (digit(value.charCodeAt(index)) << 4) | digit(value.charCodeAt(index + 1));
    next += 1;
  }
  if (next !== at + 16) throw new RangeError('Not a UUID');
  return next;
}

const headerBytes = 20;
const isNull = (value: unknown): value is null | undefined => value === null || value === undefined;

/**
 * A one-dimensional array in PostgreSQL's binary form, which the driver sends as it is. The text form would cost an escape per element here, hex
 * for every byte, and a parse there. `null` and undefined are NULL.
 */
export function binaryArray(type: ElementType, values: readonly unknown[]): Buffer {
  const { oid, bytes, write } = elements[type];
  // Plain loops: this runs for every column of every row.
  const sizes = new Array<number>(values.length);
  let total = headerBytes;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index];
    const size = isNull(value) ? -1 : bytes(value as never);
    sizes[index] = size;
    total += 4 + Math.max(size, 0);
  }
  const buffer = Buffer.allocUnsafe(total);
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(sizes.includes(-1) ? 1 : 0, 4);
  buffer.writeInt32BE(oid, 8);
  buffer.writeInt32BE(values.length, 12);
  buffer.writeInt32BE(1, 16);
  let at = headerBytes;
  for (let index = 0; index < values.length; index += 1) {
    const size = sizes[index] ?? -1;
    at = buffer.writeInt32BE(size, at);
    if (size >= 0) at = write(buffer, values[index] as never, at);
  }
  return buffer;
}
