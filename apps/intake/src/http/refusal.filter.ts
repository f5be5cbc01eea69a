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
    const refusal = this.refusalOf(error);
    const caller = callerOf(request);
    if (caller) caller.outcome ??= refusal.outcome;
    if (refusal.problem.status === 500) {
      this.logger.error({ unit: 'http', err: error, trace_id: caller?.span.context.traceId }, 'A request failed unexpectedly');
    }
    sendRefusal(http.getResponse<FastifyReply>(), refusal);
  }

  private refusalOf(error: unknown): Refusal {
    if (error instanceof Refusal) return error;
    if (error instanceof DatabaseUnavailable || error instanceof CoalescerFull) return refusals.unavailable();
    const status = statusOf(error);
    if (status === 404 || status === 405) return refusals.notFound();
    if (status === 413) return refusals.tooLarge(this.bodyLimitBytes);
    if (status === 415) return refusals.unsupportedMediaType();
    return status !== undefined && status >= 400 && status < 500 ? refusals.badRequest(status) : refusals.internal();
  }
}

/** Nest and Fastify both put the status on what they throw. */
function statusOf(error: unknown): number | undefined {
  if (error instanceof HttpException) return error.getStatus();
  if (error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number') return error.statusCode;
  return undefined;
}
