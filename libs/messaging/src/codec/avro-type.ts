import avro from 'avsc';

/** The part of avsc's reading cursor that a collection needs. */
interface Tap {
  buf: Buffer;
  pos: number;
  readLong(): number;
  skipLong(): void;
  readString(): string;
  skipString(): void;
}

interface TapReader {
  _read(tap: Tap): unknown;
  _skip(tap: Tap): void;
}

/** From 2^52 on (year 144683) the library writes and reads longs off by one, though it calls everything below 2^53 exact. */
const exactBelow = 2 ** 52;

/** timestamp-millis as Date and nothing else: text and numbers are refused, so that there is one form in the whole product. */
class TimestampMillis extends avro.types.LogicalType {
  protected override _fromValue(value: number): Date {
    if (Math.abs(value) >= exactBelow) throw new Error('timestamp out of range');
    return new Date(value);
  }

  protected override _toValue(value: unknown): number | undefined {
    if (!(value instanceof Date)) return undefined;
    const millis = value.getTime();
    return Math.abs(millis) < exactBelow ? millis : undefined;
  }

  /** A plain long is read as a timestamp too; without this a nullable timestamp cannot be resolved between two schema versions. */
  protected override _resolve(type: avro.Type): ((value: number) => Date) | undefined {
    return avro.Type.isType(type, 'long', 'int', 'logical:timestamp-millis') ? this._fromValue : undefined;
  }
}

/**
 * Entries of the next block of a map or array; 0 at the end. Every entry takes a byte or more, so a count beyond the bytes left is a lie.
 * avsc believes it, and one hostile record would keep the process busy for years.
 */
function blockSize(tap: Tap): number {
  let count = tap.readLong();
  if (count < 0) {
    count = -count;
    tap.skipLong();
  }
  if (count > tap.buf.length - tap.pos) throw new Error('truncated buffer');
  return count;
}

/** Runs `each` for every entry. A negative length would move the cursor back, and the same block would come again for ever. */
function forEachEntry(tap: Tap, each: () => void): void {
  for (let count = blockSize(tap); count !== 0; count = blockSize(tap)) {
    while (count-- > 0) {
      const before = tap.pos;
      each();
      if (tap.pos < before) throw new Error('negative length');
    }
  }
}

class BoundedMap extends avro.types.MapType {
  _read(tap: Tap): Record<string, unknown> {
    const values = this.valuesType as unknown as TapReader;
    const entries: Record<string, unknown> = {};
    forEachEntry(tap, () => {
      const key = tap.readString();
      const value = values._read(tap);
      // A plain assignment to this key would be lost without a trace.
      if (key === '__proto__') Object.defineProperty(entries, key, { value, enumerable: true, writable: true, configurable: true });
      else entries[key] = value;
    });
    return entries;
  }

  _skip(tap: Tap): void {
    const values = this.valuesType as unknown as TapReader;
    forEachEntry(tap, () => {
      tap.skipString();
      values._skip(tap);
    });
  }
}

class BoundedArray extends avro.types.ArrayType {
  _read(tap: Tap): unknown[] {
    const items = this.itemsType as unknown as TapReader;
    const list: unknown[] = [];
    forEachEntry(tap, () => list.push(items._read(tap)));
    return list;
  }

  _skip(tap: Tap): void {
    const items = this.itemsType as unknown as TapReader;
    forEachEntry(tap, () => items._skip(tap));
  }
}

type TypeHook = NonNullable<Partial<avro.ForSchemaOptions>['typeHook']>;

const boundCollections: TypeHook = (schema, options) => {
  if (typeof schema !== 'object' || avro.Type.isType(schema) || !('type' in schema)) return undefined;
  const Collection = { map: BoundedMap, array: BoundedArray }[schema.type as string];
  return Collection === undefined
    ? undefined
    : new (Collection as new (schema: avro.Schema, options: object) => avro.Type)(schema, options);
};

/** A type that reads and writes our forms: Date, unwrapped unions, bounded collections. @throws when the text is no Avro schema. */
export function avroType(schema: string): avro.Type {
  return avro.Type.forSchema(JSON.parse(schema) as avro.Schema, {
    logicalTypes: { 'timestamp-millis': TimestampMillis as never },
    typeHook: boundCollections,
    registry: {},
    omitRecordMethods: true,
  });
}

/** Reads longs as bigint, whole. */
const exactLong = avro.types.LongType.__with({
  fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(),
  toBuffer: () => Buffer.alloc(8),
  fromJSON: Number,
  toJSON: Number,
  isValid: () => true,
  compare: () => 0,
});

const exactLongs: TypeHook = (schema, options) => {
  const name = typeof schema === 'object' && 'type' in schema ? schema.type : schema;
  return name === 'long' ? exactLong : boundCollections(schema, options);
};

/** Paths of the fields whose long cannot be a number or a Date without changing its value; empty when the bytes do not decode at all. */
export function inexactFields(schema: string, body: Buffer): string[] {
  try {
    const exact = avro.Type.forSchema(JSON.parse(schema) as avro.Schema, { typeHook: exactLongs });
    return bigLongs(exact.fromBuffer(body), '');
  } catch {
    return [];
  }
}

function bigLongs(value: unknown, path: string): string[] {
  if (typeof value === 'bigint') return value >= exactBelow || value <= -exactBelow ? [path] : [];
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => bigLongs(inner, path === '' ? name : `${path}.${name}`));
}
