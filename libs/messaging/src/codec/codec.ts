import type avro from 'avsc';
import type { EventDescriptor } from '#contracts';
import { avroType, inexactFields } from './avro-type.js';
import { schemaMeaning } from './canonical-schema.js';
import { DecodeError, EncodeError } from './errors.js';
import type { SchemaIds } from './schema-ids.js';
import { writerSchemas } from './writer-schemas.js';

export interface CodecOptions {
  /** What `leadctl schemas apply` stored: with it neither encoding nor decoding of known ids asks the registry. */
  known: SchemaIds;
  /** Confluent-compatible base URL, asked only for ids that are not known. Without it such an id is `unknown_schema` at once. */
  registryUrl?: string;
  /** Hard limit of one registry call; default 3,000. */
  timeoutMs?: number;
}

/** Avro in Confluent framing (zero byte, 4-byte schema id, binary). timestamp-millis is a Date on our side. */
export interface Codec {
  /** @throws EncodeError when the value does not fit, or when the contract's schema id is not known. */
  encode<E>(event: EventDescriptor<E>, value: E): Buffer;
  /**
   * Reads with our own reader schema; the answer is a promise only where an unknown id must be asked for.
   * @throws DecodeError (for good) or RegistryUnavailable (for now).
   */
  decode<E>(event: EventDescriptor<E>, bytes: Buffer | null): E | Promise<E>;
}

const prefixBytes = 5;

export function createCodec(options: CodecOptions): Codec {
  const contracts = new Map<EventDescriptor<unknown>, Contract>();
  const writers = writerSchemas({ ...options, timeoutMs: options.timeoutMs ?? 3_000 });
  const contractOf = (event: EventDescriptor<unknown>): Contract => {
    const found = contracts.get(event) ?? new Contract(event, options.known);
    contracts.set(event, found);
    return found;
  };
  return {
    encode: (event, value) => contractOf(event).encode(value),
    decode<E>(event: EventDescriptor<E>, bytes: Buffer | null): E | Promise<E> {
      const contract = contractOf(event);
      const id = schemaId(event, bytes);
      const body = (bytes as Buffer).subarray(prefixBytes);
      if (contract.canRead(id)) return contract.read(id, body) as E;
      const schema = writers.schemaOf(event.subject, id);
      if (typeof schema === 'string') return contract.read(id, body, schema) as E;
      return schema.then((text) => contract.read(id, body, text) as E);
    },
  };
}

/** @throws DecodeError where the bytes are not framed Avro. */
function schemaId(event: EventDescriptor<unknown>, bytes: Buffer | null): number {
  if (bytes === null) throw new DecodeError('tombstone', `${event.name}: the record has no value`);
  if (bytes.length < prefixBytes) throw new DecodeError('not_avro', `${event.name}: ${bytes.length} bytes are too few for a schema id`);
  if (bytes[0] !== 0) throw new DecodeError('not_avro', `${event.name}: the value does not begin with a zero byte`);
  return bytes.readInt32BE(1);
}

type Reader = { schema: string; resolver: object | undefined };

/** One event's schema compiled, with the resolvers of every writer met so far. */
class Contract {
  private readonly type: avro.Type;
  private readonly readers = new Map<number, Reader | DecodeError>();
  private readonly id: number | EncodeError;
  /** Events are small; a larger one makes it grow. */
  private scratch = Buffer.allocUnsafe(4_096);

  constructor(
    private readonly event: EventDescriptor<unknown>,
    known: SchemaIds,
  ) {
    this.type = avroType(event.schema);
    this.id = writerId(event, known);
  }

  encode(value: unknown): Buffer {
    if (typeof this.id !== 'number') throw this.id;
    try {
      let end = this.type.encode(value, this.scratch, prefixBytes);
      if (end < 0) {
        this.scratch = Buffer.allocUnsafe(2 * (this.scratch.length - end));
        end = this.type.encode(value, this.scratch, prefixBytes);
      }
      this.scratch[0] = 0;
      this.scratch.writeInt32BE(this.id, 1);
      return Buffer.from(this.scratch.subarray(0, end));
    } catch {
      // The library's own message holds the value.
      throw new EncodeError(`${this.event.name}: ${this.misfits(value).join(', ')} must be what the contract says`);
    }
  }

  private misfits(value: unknown): string[] {
    const paths: string[] = [];
    this.type.isValid(value, { errorHook: (path: string[]) => paths.push(path.join('.')) } as never);
    return paths.length > 0 ? paths : ['the value'];
  }

  canRead(id: number): boolean {
    return this.readers.has(id);
  }

  /** `schema` is needed the first time only. */
  read(id: number, body: Buffer, schema?: string): unknown {
    const reader = this.readers.get(id) ?? this.addReader(id, schema as string);
    if (reader instanceof DecodeError) throw reader;
    let value: unknown;
    try {
      value = this.type.fromBuffer(body, reader.resolver);
    } catch (error) {
      throw this.undecodable(
        id,
        explain(error, () => inexactFields(reader.schema, body)),
      );
    }
    if (replacedText(value, body)) throw this.undecodable(id, 'a text is not valid UTF-8');
    return value;
  }

  private addReader(id: number, schema: string): Reader | DecodeError {
    const reader = this.resolve(id, schema);
    this.readers.set(id, reader);
    return reader;
  }

  private resolve(id: number, schema: string): Reader | DecodeError {
    try {
      const same = schemaMeaning(schema) === schemaMeaning(this.event.schema);
      return { schema, resolver: same ? undefined : this.type.createResolver(avroType(schema)) };
    } catch {
      return this.undecodable(id, 'its schema cannot be read as this contract');
    }
  }

  private undecodable(id: number, why: string): DecodeError {
    return new DecodeError('undecodable', `${this.event.name}, schema id ${id}: ${why}`);
  }
}

const replacement = '\uFFFD';
const replacementBytes = Buffer.from(replacement);

/**
 * True when decoding put U+FFFD where the bytes hold something else: two ids that differ in one bad byte would become one. A replacement
 * character that the producer wrote itself stands in the bytes and passes.
 */
function replacedText(value: unknown, body: Buffer): boolean {
  let left = replacements(value);
  for (let at = body.indexOf(replacementBytes); left > 0 && at !== -1; at = body.indexOf(replacementBytes, at + 3)) left -= 1;
  return left > 0;
}

/** Replacement characters in all texts of a decoded value. */
function replacements(value: unknown): number {
  if (typeof value === 'string') return value.includes(replacement) ? value.split(replacement).length - 1 : 0;
  if (typeof value !== 'object' || value === null || value instanceof Date || Buffer.isBuffer(value)) return 0;
  let count = 0;
  for (const [key, inner] of Object.entries(value)) count += replacements(key) + replacements(inner);
  return count;
}

/** Id under which our own records go out: the newest registration of the contract's version. */
function writerId(event: EventDescriptor<unknown>, known: SchemaIds): number | EncodeError {
  const own = known.findLast((schema) => schema.subject === event.subject && schema.version === event.schemaVersion);
  const name = `${event.subject} version ${event.schemaVersion}`;
  if (own === undefined) return new EncodeError(`${name} is not registered for this service: run \`leadctl schemas apply\``);
  if (schemaMeaning(own.schema) === schemaMeaning(event.schema)) return own.id;
  return new EncodeError(`${name} was registered with other content: a changed schema needs a new version file`);
}

/** Causes by the library's fixed texts; anything else could hold a value of the record. */
function explain(error: unknown, inexact: () => string[]): string {
  const message = error instanceof Error ? error.message : '';
  if (/precision loss|timestamp out of range/.test(message)) {
    const fields = inexact();
    return `${fields.length > 0 ? fields.join(', ') : 'a long'} is outside the exact range`;
  }
  if (/truncated|trailing|negative length/.test(message)) return 'the bytes are shorter or longer than the schema says';
  if (/union index/.test(message)) return 'a union has no such branch';
  return 'the bytes do not fit the schema';
}
