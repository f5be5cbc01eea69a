import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { DatabaseUnavailable, InternalRefused, InternalUnavailable, type Logger, problemContentType } from '#runtime';
import { Refusal, refusals } from './refusal.js';

/** Turns whatever was thrown into a problem. Only refusals speak for themselves; of anything else no text goes out. */
@Catch()
export class RefusalFilter implements ExceptionFilter {
  constructor(private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const { problem } = this.refusalOf(error);
    if (problem.status === 500) this.logger.error({ unit: 'http', err: error }, 'A request failed unexpectedly');
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    void reply.code(problem.status).type(problemContentType).send(JSON.stringify(problem));
  }

  private refusalOf(error: unknown): Refusal {
    if (error instanceof Refusal) return error;
    if ([DatabaseUnavailable, InternalUnavailable, InternalRefused].some((kind) => error instanceof kind)) return refusals.unavailable();
    const status = error instanceof HttpException ? error.getStatus() : (error as { statusCode?: number }).statusCode;
    if (status === 404) return refusals.notFound();
    return status !== undefined && status >= 400 && status < 500 ? refusals.badRequest(status) : refusals.internal();
  }
}
