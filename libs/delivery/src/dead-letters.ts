import { type FailureClass, headers } from '#contracts';
import type { ConsumedRecord, OutboxRow, Receipt } from '#messaging';
import type { Coalescer, Logger } from '#runtime';
import { Stopped } from './sql/errors.js';

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
      await this.#options.write(deadLetter(receipt.record, this.#options.dlqTopic, reason));
      receipt.settle();
      this.#options.relayWake();
      this.#options.logger.warn(fields, 'record sent to the dead-letter topic');
    } catch (error) {
      if (!(error instanceof Stopped)) this.#options.logger.error({ ...fields, err: error }, 'dead letter not written');
    }
  }
}

const forwarded = [
  headers.eventId,
  headers.destinations,
  headers.deadlineAt,
  headers.originTopic,
  headers.originPartition,
  headers.originOffset,
  headers.traceparent,
  headers.tracestate,
];

/**
 * A record that can be no delivery, as it goes to the group's dead-letter topic: key and value untouched, a bounded set of headers, and
 * where the original lies.
 */
function deadLetter(record: ConsumedRecord, topic: string, reason: DeadLetterReason): OutboxRow {
  const kept = forwarded.filter((name) => record.headers[name] !== undefined).map((name) => [name, String(record.headers[name])]);
  return {
    topic,
    key: record.key,
    value: record.value,
    headers: {
      [headers.originTopic]: record.topic,
      [headers.originPartition]: String(record.partition),
      [headers.originOffset]: String(record.offset),
      ...Object.fromEntries(kept),
      [headers.errorClass]: reason.class,
      [headers.errorCode]: reason.code,
    },
  };
}
