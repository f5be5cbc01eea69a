import type { EventDescriptor } from '#contracts';
import type { SchemaIds } from './schema-ids.js';

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

export function createCodec(_options: CodecOptions): Codec {
  throw new Error('not implemented');
}
