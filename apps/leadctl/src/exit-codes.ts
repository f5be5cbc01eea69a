import { BrokersUnavailable, RegistryUnavailable, SchemaRefused } from '#messaging';
import { ConfigError, DatabaseUnavailable, InternalUnavailable } from '#runtime';
import { RestRefused, RestUnavailable } from './rest/rest-client.js';

/**
 * What the process says by its end; scripts and deployments rely on it.
 * - 0: done, or nothing to do
 * - 1: failed in a way nobody foresaw
 * - 2: wrong usage or configuration; everything wrong with it is printed
 * - 3: looked and found something that a person must change (a schema, a topic)
 * - 5: the operator service refuses: you may not, it is not there, or it does not fit what is there now
 * - 4: PostgreSQL, Kafka, the registry or a service is out of reach; run it again later
 */
export const exitCodes = { done: 0, failed: 1, usage: 2, found: 3, unreachable: 4, refused: 5 } as const;

/** System errors of a connection that did not come about. */
const networkCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', '57P03']);

/** The exit code that an error stands for; 1 for one that nobody foresaw. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof ConfigError) return exitCodes.usage;
  if (error instanceof SchemaRefused) return exitCodes.found;
  // What the service finds wrong with the form of a request was typed wrong.
  if (error instanceof RestRefused) return error.status === 422 || error.status === 400 ? exitCodes.usage : exitCodes.refused;
  const unreachable = [BrokersUnavailable, RegistryUnavailable, DatabaseUnavailable, InternalUnavailable, RestUnavailable].some(
    (kind) => error instanceof kind,
  );
  return unreachable || networkCodes.has((error as { code?: string }).code ?? '') ? exitCodes.unreachable : exitCodes.failed;
}
