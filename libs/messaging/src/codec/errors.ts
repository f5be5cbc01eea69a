/** Why bytes carry no event. None of these heals by waiting. */
export type DecodeReason = 'tombstone' | 'not_avro' | 'unknown_schema' | 'undecodable';

/** A record that will never decode. The message names contract, schema id and cause; it never holds a value of the record. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
  readonly safeMessage = true;
  constructor(
    readonly reason: DecodeReason,
    message: string,
  ) {
    super(message);
  }
}

/** A value that does not fit its contract. The message names the field, never the value. */
export class EncodeError extends Error {
  override readonly name = 'EncodeError';
  readonly safeMessage = true;
}

/** The registry gave no usable answer in time. Nothing is known about the schema id: wait and ask again, never dead-letter. */
export class RegistryUnavailable extends Error {
  override readonly name = 'RegistryUnavailable';
  readonly safeMessage = true;
}
