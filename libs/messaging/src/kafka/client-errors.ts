import { BrokersUnavailable, ProduceRefused, UnsupportedBroker } from './errors.js';

/** Refusals that one record of the request can be the cause of. */
const recordFaults = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD', 'INVALID_TIMESTAMP', 'CORRUPT_MESSAGE']);
interface ClientError extends Error {
  /** Kafka's name of a protocol error. */
  type?: string;
  retriable?: boolean;
  cause?: unknown;
}

/** The protocol error somewhere in the chain of causes. */
function protocolError(error: unknown): ClientError | undefined {
  for (let at = error as ClientError | undefined; at instanceof Error; at = at.cause as ClientError | undefined) {
    if (typeof at.type === 'string') return at;
  }
  return undefined;
}

/** Kafka's name of the error. */
export function protocolErrorType(error: unknown): string | undefined {
  return protocolError(error)?.type;
}

/** What a failed send means for the caller. Client texts are kept as the cause only. */
export function sendError(error: unknown): Error {
  if (error instanceof UnsupportedBroker || error instanceof BrokersUnavailable || error instanceof ProduceRefused) return error;
  const refusal = protocolError(error);
  if (refusal?.type === undefined) return new BrokersUnavailable('a send failed', { cause: error });
  return new ProduceRefused(refusal.type, recordFaults.has(refusal.type), { passing: refusal.retriable === true, cause: error });
}

/** Whether asking again may help: no answer, or an answer that the protocol marks as passing. A mistake in our own request is not. */
export function isRetriable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof TypeError || error instanceof RangeError) return false;
  return (error as { retriable?: boolean }).retriable !== false;
}
