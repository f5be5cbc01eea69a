import type { FastifyInstance, FastifyRequest } from 'fastify';
import { problemContentType } from '#runtime';
import { refusals } from './refusal.js';

const people = new WeakMap<FastifyRequest, string>();

/** Lets only people with a key in, and remembers who each request is from. */
export function installKeys(instance: FastifyInstance, personOf: (authorization: string | undefined) => string | undefined): void {
  instance.addHook('onRequest', (request, reply, done) => {
    const person = personOf(request.headers.authorization);
    if (person === undefined) {
      const { problem } = refusals.unauthorized();
      return void reply.code(problem.status).type(problemContentType).send(JSON.stringify(problem));
    }
    people.set(request, person);
    done();
  });
}

/** The person whose key the request carries. */
export function askedBy(request: FastifyRequest): string {
  const person = people.get(request);
  if (person === undefined) throw refusals.unauthorized();
  return person;
}
