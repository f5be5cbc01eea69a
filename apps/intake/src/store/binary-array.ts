/** PostgreSQL element types that columns are sent as. */
export type ElementType = 'bool' | 'bytea' | 'int2' | 'int4' | 'int8' | 'json' | 'jsonb' | 'text' | 'timestamptz' | 'uuid';

type Write = (value: never) => Buffer;

const utf8 = (text: string): Buffer => Buffer.from(text, 'utf8');
const postgresEpochMs = Date.UTC(2000, 0, 1);

const elements: Record<ElementType, { oid: number; write: Write }> = {
  bool: { oid: 16, write: (value: boolean) => Buffer.from([value ? 1 : 0]) },
  bytea: { oid: 17, write: (value: Buffer) => value },
  int2: { oid: 21, write: (value: number) => sized(2, (buffer) => buffer.writeInt16BE(value)) },
  int4: { oid: 23, write: (value: number) => sized(4, (buffer) => buffer.writeInt32BE(value)) },
  int8: { oid: 20, write: (value: bigint | number) => sized(8, (buffer) => buffer.writeBigInt64BE(BigInt(value))) },
  json: { oid: 114, write: utf8 },
  // Version byte of the wire form, then the text.
  jsonb: { oid: 3802, write: (text: string) => Buffer.concat([Buffer.from([1]), utf8(text)]) },
  text: { oid: 25, write: utf8 },
  timestamptz: {
    oid: 1184,
    write: (value: Date) => sized(8, (buffer) => buffer.writeBigInt64BE(BigInt(value.getTime() - postgresEpochMs) * 1000n)),
  },
  uuid: { oid: 2950, write: (value: string) => Buffer.from(value.replaceAll('-', ''), 'hex') },
};

function sized(bytes: number, write: (buffer: Buffer) => void): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  write(buffer);
  return buffer;
}

const headerBytes = 20;

/**
 * A one-dimensional array in PostgreSQL's binary form, which the driver sends as it is. The text form would cost an escape per element here, hex
 * for every byte, and a parse there. `null` and undefined are NULL.
 */
export function binaryArray(type: ElementType, values: readonly unknown[]): Buffer {
  const { oid, write } = elements[type];
  const written = values.map((value) => (value === null || value === undefined ? undefined : write(value as never)));
  const size = written.reduce((sum, element) => sum + 4 + (element?.length ?? 0), headerBytes);
  const buffer = Buffer.allocUnsafe(size);
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(written.includes(undefined) ? 1 : 0, 4);
  buffer.writeInt32BE(oid, 8);
  buffer.writeInt32BE(values.length, 12);
  buffer.writeInt32BE(1, 16);
  let at = headerBytes;
  for (const element of written) {
    at = buffer.writeInt32BE(element?.length ?? -1, at);
    if (element) at += element.copy(buffer, at);
  }
  return buffer;
}
