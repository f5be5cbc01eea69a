import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CoalescerFull, DatabaseUnavailable, type Logger } from '#runtime';
import { callerOf } from './caller.js';
import { Refusal, refusals } from './refusal.js';
import { sendRefusal } from './send.js';

/** Turns whatever was thrown into a problem. Only refusals speak for themselves; of anything else no text goes out. */
@Catch()
export class RefusalFilter implements ExceptionFilter {
  constructor(
    private readonly logger: Logger,
    private readonly bodyLimitBytes: number,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const refusal = this.refusalOf(error, request);
    const caller = callerOf(request);
    if (caller) caller.outcome ??= refusal.outcome;
    if (refusal.problem.status === 500) {
      this.logger.error({ unit: 'http', err: error, trace_id: caller?.span.context.traceId }, 'A request failed unexpectedly');
    }
    sendRefusal(http.getResponse<FastifyReply>(), refusal);
  }

  private refusalOf(error: unknown, request: FastifyRequest): Refusal {
    if (error instanceof Refusal) return error;
    if (error instanceof DatabaseUnavailable || error instanceof CoalescerFull) return refusals.unavailable();
    const status = statusOf(error);
    if (status === 404 || status === 405) return notFound(request);
    if (status === 413) return refusals.tooLarge(this.bodyLimitBytes);
    if (status === 415) return refusals.unsupportedMediaType();
    return status !== undefined && status >= 400 && status < 500 ? refusals.badRequest(status) : refusals.internal();
  }
}

const methods: readonly (readonly [path: RegExp, allow: string])[] = [
  [/^\/v1\/leads$/, 'GET, HEAD, POST'],
  [/^\/v1\/leads\/[^/]+$/, 'GET, HEAD'],
  [/^\/v1\/leads\/[^/]+\/consent$/, 'POST'],
  [/^\/openapi\.json$/, 'GET, HEAD'],
];

/** The router knows pairs of method and path alone; a path that is there under other methods is a different mistake. */
function notFound({ url, method }: FastifyRequest): Refusal {
  const path = url.split('?', 1)[0] ?? '';
  const allow = methods.find(([pattern]) => pattern.test(path))?.[1];
  return allow === undefined || allow.split(', ').includes(method) ? refusals.notFound() : refusals.methodNotAllowed(allow);
}

/** Nest and Fastify both put the status on what they throw. */
function statusOf(error: unknown): number | undefined {
  if (error instanceof HttpException) return error.getStatus();
  if (error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number') return error.statusCode;
  return undefined;
}
