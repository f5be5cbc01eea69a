import type { FastifyReply } from 'fastify';
import { problemContentType } from '#runtime';
import type { Refusal } from './refusal.js';

/** Sends a problem unless something was sent already (the deadline may have answered first). */
export function sendRefusal(reply: FastifyReply, refusal: Refusal): void {
  if (reply.sent) return;
  void reply.code(refusal.problem.status).headers(refusal.headers).type(problemContentType).send(JSON.stringify(refusal.problem));
}
