import { type FieldProblem, type Problem, problem } from '#runtime';
import type { IdField } from '../submission/read-body.js';

/** An answer that is not the one asked for: an RFC 9457 problem and its headers. Thrown by whatever finds the fault, sent in one place. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly safeMessage = true;

  constructor(
    readonly problem: Problem,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(problem.title);
  }

  /** The slug of the problem type: what logs and metrics call this outcome. */
  get outcome(): string {
    return this.problem.type.slice(this.problem.type.lastIndexOf(':') + 1);
  }
}

export const refusals = {
  unauthorized: () =>
    new Refusal(problem(401, 'unauthorized', 'A valid source key is required', { detail: 'Send Authorization: Bearer <source key>.' }), {
      'www-authenticate': 'Bearer realm="leads"',
    }),
  rateLimited: (retryAfterS: number) =>
    new Refusal(
      problem(429, 'rate-limited', 'Too many requests of this source', {
        detail: `Wait ${retryAfterS} s; the same submission id stays valid.`,
      }),
      { 'retry-after': String(retryAfterS) },
    ),
  malformed: (detail: string) => new Refusal(problem(400, 'malformed', 'The body is not a JSON document', { detail: `${detail}.` })),
  repeated: (errors: FieldProblem[]) => new Refusal(problem(400, 'repeated-field', 'The body has a field more than once', { errors })),
  missingId: (errors: FieldProblem[]) => new Refusal(problem(400, 'missing-id', 'The submission has no id', { errors })),
  invalid: (errors: FieldProblem[]) => new Refusal(problem(422, 'invalid', 'The lead has invalid fields', { errors })),
  /** `field`: where the client sent the id. Of consent alone that is taken back the answer says how, or the source would mint a new lead for it. */
  conflict: (eventId: string, field: IdField, consentAlone = false) =>
    new Refusal(
      problem(422, 'idempotency-conflict', 'This id was already used for other content', {
        event_id: eventId,
        errors: [
          {
            field,
            problem: consentAlone ? 'was already used for this content with consent' : 'was already used for other content',
            fix: consentAlone
              ? `To withdraw consent, send {"given": false} to POST /v1/leads/${eventId}/consent.`
              : 'Send the content of the first request, or a new id; name the lead it changes in supersedes.',
          },
        ],
      }),
    ),
  tooLarge: (limitBytes: number) =>
    new Refusal(
      problem(413, 'too-large', 'The body is too large', {
        errors: [{ field: 'body', problem: `is larger than ${limitBytes} bytes`, fix: `Send at most ${limitBytes} bytes.` }],
      }),
      // The limit is configuration: sending the same body again is worth it only once somebody may have raised it.
      { 'retry-after': '3600' },
    ),
  unsupportedMediaType: () =>
    new Refusal(problem(415, 'unsupported-media-type', 'The body must be JSON', { detail: 'Send Content-Type: application/json.' })),
  contentEncoding: () =>
    new Refusal(
      problem(415, 'unsupported-content-encoding', 'The body must not be compressed', { detail: 'Send it without Content-Encoding.' }),
      { 'accept-encoding': 'identity' },
    ),
  methodNotAllowed: (allow: string) =>
    new Refusal(problem(405, 'method-not-allowed', 'This resource has no such method', { detail: `It has ${allow}.` }), { allow }),
  slowRequest: () =>
    new Refusal(problem(408, 'slow-request', 'The request did not arrive in time', { detail: 'Send the whole request within 2 s.' }), {
      connection: 'close',
    }),
  unavailable: () =>
    new Refusal(
      problem(503, 'unavailable', 'Leads cannot be saved or read right now', {
        detail: 'Send the same request again, with the same submission id: nothing is half-saved.',
      }),
      { 'retry-after': '2' },
    ),
  notFound: () => new Refusal(problem(404, 'not-found', 'There is no such resource')),
  query: (errors: FieldProblem[]) => new Refusal(problem(400, 'invalid-query', 'The query is not valid', { errors })),
  badRequest: (status: number) => new Refusal(problem(status, 'bad-request', 'The request cannot be read')),
  internal: () => new Refusal(problem(500, 'internal', 'A fault of ours; it is logged'), { 'retry-after': '10' }),
};
