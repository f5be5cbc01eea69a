import type { FastifyRequest } from 'fastify';
import type { SourceConfig, Span } from '#runtime';

/** What is known of a request while it runs, and what its one log line says at the end. */
export interface Caller {
  source: SourceConfig;
  span: Span;
  startedMs: number;
  /** What became of it; the problem's slug where it was refused. */
  outcome?: string;
  eventId?: string;
  test?: boolean;
}

const callers = new WeakMap<FastifyRequest, Caller>();

/** Notes who sends a request, for every later step of it. */
export function setCaller(request: FastifyRequest, caller: Caller): void {
  callers.set(request, caller);
}

/** The authenticated caller; undefined where the request was refused before, or the path needs none. */
export function callerOf(request: FastifyRequest): Caller | undefined {
  return callers.get(request);
}
