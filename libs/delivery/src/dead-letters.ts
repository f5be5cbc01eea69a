import { type FailureClass, headers } from '#contracts';
import type { ConsumedRecord, OutboxRow, Receipt } from '#messaging';
import type { Coalescer, Logger } from '#runtime';
import { type DeadLetterInput, deadLetterRow } from './dead-letter-row.js';
import { Stopped } from './sql/errors.js';
import { isReplayTopic, isRetryTopic } from './work.js';

export interface DeadLettersOptions {
  /** Puts a row into the outbox; waits while the database is away. */
  write: Coalescer<OutboxRow, void>;
  dlqTopic: string;
  relayWake: () => void;
  logger: Logger;
}

export interface DeadLetterReason {
  class: FailureClass;
  code: string;
}

/** Records that can be no delivery: announced on the group's dead-letter topic through the outbox, so that they block nothing. */
export class DeadLetters {
  readonly #options: DeadLettersOptions;

  constructor(options: DeadLettersOptions) {
    this.#options = options;
  }

  /** Settles the receipt once the dead letter is in the outbox. */
  send(receipt: Receipt, reason: DeadLetterReason): void {
    void this.#send(receipt, reason);
  }

  async #send(receipt: Receipt, reason: DeadLetterReason): Promise<void> {
    const { topic, partition, offset } = receipt.record;
    const fields = { topic, partition, offset, error_class: reason.class, error_code: reason.code };
    try {
      await this.#options.write(unreadable(receipt.record, this.#options.dlqTopic, reason));
      receipt.settle();
      this.#options.relayWake();
      this.#options.logger.warn(fields, 'record sent to the dead-letter topic');
    } catch (error) {
      if (!(error instanceof Stopped)) this.#options.logger.error({ ...fields, err: error }, 'dead letter not written');
    }
  }
}

/** What is known of such a record stands in its headers. */
function unreadable(record: ConsumedRecord, topic: string, reason: DeadLetterReason): OutboxRow {
  const text = (name: string): string | undefined => record.headers[name]?.toString();
  const deadlineAtMs = Number(text(headers.deadlineAt) ?? Number.NaN);
  return deadLetterRow({
    topic,
    key: record.key,
    value: record.value,
    eventId: text(headers.eventId),
    destination: text(headers.destinations),
    deadlineAtMs: Number.isFinite(deadlineAtMs) ? deadlineAtMs : undefined,
    firstSeenAtMs: record.timestampMs,
    origin: originOf(record),
    traceparent: text(headers.traceparent),
    tracestate: text(headers.tracestate),
    ...reason,
  });
}

/** Where the record lay first: what an earlier hop wrote down, else where it lies; unknown where the hop's writer did not know. */
export function originOf(record: ConsumedRecord): DeadLetterInput['origin'] {
  const [topic, partition, offset] = [headers.originTopic, headers.originPartition, headers.originOffset].map((name) =>
    record.headers[name]?.toString(),
  );
  if (topic !== undefined && partition !== undefined && offset !== undefined) return { topic, partition, offset };
  return isRetryTopic(record.topic) || isReplayTopic(record.topic)
    ? undefined
    : { topic: record.topic, partition: record.partition, offset: record.offset };
}
