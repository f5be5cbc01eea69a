import type { FetchedRecord } from '../kafka/ports.js';
import type { ConsumedRecord } from './record.js';

/** A fetched record seen through our interface. Numbers and headers are made when asked for: most records are skipped or settled unread. */
export class KafkaRecord implements ConsumedRecord {
  private ownHeaders: Record<string, Buffer> | undefined;

  constructor(
    readonly topic: string,
    readonly partition: number,
    private readonly fetched: FetchedRecord,
  ) {}

  get offset(): bigint {
    return BigInt(this.fetched.offset);
  }

  get key(): Buffer | null {
    return this.fetched.key;
  }

  get value(): Buffer | null {
    return this.fetched.value;
  }

  get timestampMs(): number {
    return Number(this.fetched.timestamp);
  }

  get headers(): Record<string, Buffer> {
    this.ownHeaders ??= lastValues(this.fetched.headers ?? {});
    return this.ownHeaders;
  }
}

/** One buffer per header: the last value of a repeated one; a header without value counts as empty. No prototype, names are foreign. */
function lastValues(headers: NonNullable<FetchedRecord['headers']>): Record<string, Buffer> {
  const single = Object.create(null) as Record<string, Buffer>;
  for (const [name, value] of Object.entries(headers)) {
    const last = Array.isArray(value) ? value.at(-1) : value;
    single[name] = typeof last === 'string' ? Buffer.from(last) : (last ?? Buffer.alloc(0));
  }
  return single;
}
