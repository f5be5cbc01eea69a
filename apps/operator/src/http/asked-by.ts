import type { FastifyInstance, FastifyRequest } from 'fastify';
import { problemContentType } from '#runtime';
import type { Person } from '../people/person.js';
import { Refusal, refusals } from './refusal.js';

/** Finds who asks by the Authorization header; undefined for nobody known. Rejects with a Refusal when that cannot be said now. */
export type Identify = (authorization: string | undefined) => Promise<Person | undefined>;

const people = new WeakMap<FastifyRequest, Person>();

/** Under /v1 only people who are known get in; remembers who each request is from. Everything else is public. */
export function installPeople(instance: FastifyInstance, identify: Identify): void {
  instance.addHook('onRequest', async (request, reply) => {
    if (!request.url.startsWith('/v1/')) return;
    const person = await identify(request.headers.authorization).catch((error: unknown) => {
      if (error instanceof Refusal) return error;
      throw error;
    });
    if (person !== undefined && !(person instanceof Refusal)) return void people.set(request, person);
    const { problem } = person ?? refusals.unauthorized();
    return reply.code(problem.status).type(problemContentType).header('www-authenticate', 'Bearer').send(JSON.stringify(problem));
  });
}

/** The person a request is from. Throws the refusal 401 outside /v1. */
export function asker(request: FastifyRequest): Person {
  const person = people.get(request);
  if (person === undefined) throw refusals.unauthorized();
  return person;
}
