import { BrokersUnavailable, ProduceRefused, UnsupportedBroker } from './errors.js';

/** Refusals that one record of the request can be the cause of. */
const recordFaults = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD', 'INVALID_TIMESTAMP', 'CORRUPT_MESSAGE']);
/** Answers that only mean "ask again or elsewhere"; after the bounded retries they are no better than silence. */
const passing = new Set([
  'REQUEST_TIMED_OUT',
  'NETWORK_EXCEPTION',
  'NOT_LEADER_FOR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'BROKER_NOT_AVAILABLE',
]);

interface ClientError extends Error {
  /** Kafka's name of a protocol error. */
  type?: string;
  cause?: unknown;
}

/** Kafka's name of the error somewhere in the chain of causes. */
export function protocolErrorType(error: unknown): string | undefined {
  for (let at = error as ClientError | undefined; at instanceof Error; at = at.cause as ClientError | undefined) {
    if (typeof at.type === 'string') return at.type;
  }
  return undefined;
}

/** What a failed send means for the caller. Client texts are kept as the cause only. */
export function sendError(error: unknown): Error {
  if (error instanceof UnsupportedBroker || error instanceof BrokersUnavailable || error instanceof ProduceRefused) return error;
  const type = protocolErrorType(error);
  if (type === undefined) return new BrokersUnavailable('a send failed', { cause: error });
  if (passing.has(type)) return new BrokersUnavailable(`a send failed with ${type}`, { cause: error });
  return new ProduceRefused(type, recordFaults.has(type), { cause: error });
}

/** Whether asking again may help: no answer, or an answer that the protocol marks as passing. A mistake in our own request is not. */
export function isRetriable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof TypeError || error instanceof RangeError) return false;
  return (error as { retriable?: boolean }).retriable !== false;
}
