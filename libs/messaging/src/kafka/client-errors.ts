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

const coordinatorMissing = new Set(['GROUP_COORDINATOR_NOT_AVAILABLE', 'GROUP_LOAD_IN_PROGRESS', 'KafkaJSGroupCoordinatorNotFound']);

/** Why a consumer ended, in words for an operator; Kafka's name of the error where it has one. No client text: it may quote anything. */
export function whyDown(error: unknown): string {
  const type = protocolErrorType(error);
  const name = type ?? (error instanceof Error ? error.name : 'a handler failed with something that is no error');
  if (coordinatorMissing.has(name)) {
    return `Kafka has no coordinator for the group (${name}); on few brokers, check offsets.topic.replication.factor`;
  }
  return type === undefined ? name : `Kafka answered ${type}`;
}
