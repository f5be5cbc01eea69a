/**
 * A broker answered and refused. `recordFault` is true when a single record can be the cause (too large, invalid): halve the batch to find
 * it. Otherwise the topic or the permission is at fault and the same records may pass later.
 */
export class ProduceRefused extends Error {
  readonly safeMessage = true;
  /** Kafka marks the refusal as one that may pass within moments, such as a partition between two leaders. */
  readonly passing: boolean;

  constructor(
    /** Kafka's name of the error, e.g. MESSAGE_TOO_LARGE. */
    readonly code: string,
    readonly recordFault: boolean,
    { passing = false, ...options }: { passing?: boolean; cause?: unknown } = {},
  ) {
    super(`Kafka refused to store records: ${code}`, options);
    this.name = 'ProduceRefused';
    this.passing = passing;
  }
}

/** No broker gave an answer in time. What was asked may or may not have happened. */
export class BrokersUnavailable extends Error {
  readonly safeMessage = true;
  constructor(what: string, options?: ErrorOptions) {
    super(`Kafka did not answer: ${what}`, options);
    this.name = 'BrokersUnavailable';
  }
}

/** The broker no longer speaks a version of a request that this client can send. */
export class UnsupportedBroker extends Error {
  readonly safeMessage = true;
  constructor(readonly problems: readonly string[]) {
    super(`This Kafka broker cannot be used: ${problems.join('; ')}`);
    this.name = 'UnsupportedBroker';
  }
}
