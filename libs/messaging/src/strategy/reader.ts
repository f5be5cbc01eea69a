import { setTimeout as sleep } from 'node:timers/promises';
import type { EventDescriptor } from '#contracts';
import { type Logger, metrics, parseTraceContext, type TraceContext } from '#runtime';
import { DecodeError, RegistryUnavailable } from '../codec/errors.js';
import type { GroupConsumer } from '../consumer/group-consumer.js';
import type { ConsumedRecord, Receipt } from '../consumer/record.js';
import type { ReadResult, Received } from './received.js';

/** The decoding half of the codec. */
export interface EventDecoder {
  /** @throws DecodeError, or RegistryUnavailable when the schema of an unknown id cannot be asked for. */
  decode<E>(event: EventDescriptor<E>, bytes: Buffer | null): Promise<E> | E;
}

export interface ReaderOptions<E> {
  codec: EventDecoder;
  event: EventDescriptor<E>;
  consumer: Pick<GroupConsumer, 'group' | 'pause' | 'resume' | 'fail'>;
  /** A record that is not wanted is settled unread. */
  wants?(record: ConsumedRecord): boolean;
  /** Gets what was read, in offset order per partition. */
  onReceived(received: Received<E>[]): void;
  logger: Logger;
  firstPauseMs?: number;
}

const pauseReason = 'registry';
const firstPauseMs = 1_000;
const maxPauseMs = 10_000;

/**
 * Decodes receipts. Known schemas are read at once. A record of an unknown one makes its partition wait until the registry has answered;
 * until then the partition pauses, and is tried again and again: nothing is given up on for that reason.
 */
export class Reader<E> {
  /** By partition: the record that waits for its schema, and the receipts behind it. */
  private readonly waiting = new Map<string, { first: Receipt; behind: Receipt[] }>();

  constructor(private readonly options: ReaderOptions<E>) {}

  take(receipts: Receipt[]): void {
    const read: Received<E>[] = [];
    const { wants } = this.options;
    for (const receipt of receipts) {
      if (wants?.(receipt.record) === false) receipt.settle();
      else this.readInto(read, receipt);
    }
    if (read.length > 0) this.options.onReceived(read);
  }

  private readInto(read: Received<E>[], receipt: Receipt): void {
    if (this.waiting.size > 0) {
      const waiting = this.waiting.get(placeOf(receipt));
      if (waiting?.first.stale === false) return void waiting.behind.push(receipt);
    }
    const result = this.read(receipt);
    if (result instanceof Promise) void this.wait(receipt, result);
    else read.push(new ReadRecord(receipt, result));
  }

  private read(receipt: Receipt): ReadResult<E> | Promise<ReadResult<E>> {
    try {
      const event = this.options.codec.decode(this.options.event, receipt.record.value);
      if (event instanceof Promise)
        return event.then((value): ReadResult<E> => ({ ok: true, event: value })).catch((error: unknown) => this.unreadable(error));
      return { ok: true, event };
    } catch (error) {
      if (error instanceof RegistryUnavailable) return Promise.reject(error);
      return this.unreadable(error);
    }
  }

  /** @throws whatever is no verdict on the record. */
  private unreadable(error: unknown): ReadResult<E> {
    if (!(error instanceof DecodeError)) throw error;
    metrics.decodeFailures.inc({ group: this.options.consumer.group, reason: error.reason });
    return { ok: false, reason: error.reason, detail: error.message };
  }

  /** Reads the first record of a partition once its schema is known, then those behind it. */
  private async wait(first: Receipt, attempt: Promise<ReadResult<E>>): Promise<void> {
    const { topic, partition } = first.record;
    const place = placeOf(first);
    const waiting = { first, behind: [] };
    this.waiting.set(place, waiting);
    // At once: what would pile up behind it takes the room of the other partitions.
    this.options.consumer.pause(pauseReason, [{ topic, partition }]);
    const result = await this.insist(first, attempt);
    // After a rebalance another wait may have begun here; the pause is that one's then.
    if (this.waiting.get(place) !== waiting) return;
    this.waiting.delete(place);
    if (result !== undefined && !first.stale) {
      this.options.onReceived([new ReadRecord(first, result)]);
      this.take(waiting.behind);
    }
    // Last, because it hands out what came later; a record behind may have begun a wait of its own.
    if (!this.waiting.has(place)) this.options.consumer.resume(pauseReason, [{ topic, partition }]);
  }

  /** Asks until there is an answer; undefined when the assignment is over or something else than the registry failed. */
  private async insist(receipt: Receipt, first: Promise<ReadResult<E>>): Promise<ReadResult<E> | undefined> {
    const { consumer, logger } = this.options;
    const { topic, partition } = receipt.record;
    let attempt = first;
    for (let pauseMs = this.options.firstPauseMs ?? firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      try {
        return await attempt;
      } catch (err) {
        if (receipt.stale) return undefined;
        if (!(err instanceof RegistryUnavailable)) {
          consumer.fail(err);
          return undefined;
        }
        logger.warn(
          { group: consumer.group, topic, partition, err, retry_in_ms: pauseMs },
          'A schema cannot be asked for; the partition waits',
        );
      }
      await sleep(pauseMs);
      attempt = Promise.resolve().then(() => this.read(receipt));
    }
  }
}

/** The trace is parsed when asked for. */
class ReadRecord<E> implements Received<E> {
  constructor(
    readonly receipt: Receipt,
    readonly result: ReadResult<E>,
  ) {}

  get trace(): TraceContext | undefined {
    const { traceparent, tracestate } = this.receipt.record.headers;
    return traceparent && parseTraceContext({ traceparent: traceparent.toString(), tracestate: tracestate?.toString() });
  }
}

const placeOf = ({ record }: Receipt): string => `${record.topic}/${record.partition}`;
