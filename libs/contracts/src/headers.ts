/**
 * Every record header this product writes. Lower case, single-valued, replaced rather than appended on a hop, at most 4 KB together.
 * Values are UTF-8 text; readers take the last value of a repeated header.
 */
export const headers = {
  eventId: 'ld-event-id',
  /** Comma-separated destination names, so that a group can skip a record without decoding it. */
  destinations: 'ld-destinations',
  /** Epoch milliseconds before which a retry tier must not hand the record on. */
  notBefore: 'ld-not-before',
  /** Epoch milliseconds; copied verbatim on every hop. */
  deadlineAt: 'ld-deadline-at',
  /** Where the record lay first: kept over every hop. */
  originTopic: 'ld-origin-topic',
  originPartition: 'ld-origin-partition',
  originOffset: 'ld-origin-offset',
  /** Why a record went to a dead-letter topic, and where the sealed original is kept. */
  errorClass: 'ld-error-class',
  errorCode: 'ld-error-code',
  /** HTTP status of the last answer, where there was one. */
  errorStatus: 'ld-error-status',
  errorRef: 'ld-error-ref',
  /** Of a dead letter: the operation that failed, its calls so far, and when the lead was first seen (epoch milliseconds). */
  operationKey: 'ld-operation-key',
  attempts: 'ld-attempts',
  firstSeenAt: 'ld-first-seen-at',
  /** On replay topics alone: the signed permission for one item of an approved batch. */
  replayPermit: 'ld-replay-permit',
  traceparent: 'traceparent',
  tracestate: 'tracestate',
} as const;
