import { type FieldProblem, type Problem, problem } from '#runtime';

/** Why a request is not done, in words without data. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly safeMessage = true;
  constructor(readonly problem: Problem) {
    super(problem.title);
  }
}

export const refusals = {
  unauthorized: (detail?: string) => new Refusal(problem(401, 'unauthorized', 'The token is missing or unknown', { detail })),
  /** `detail` names what is missing. */
  forbidden: (detail: string) => new Refusal(problem(403, 'forbidden', 'You may not do this', { detail })),
  notFound: () => new Refusal(problem(404, 'not-found', 'There is nothing here under this id')),
  invalid: (errors: FieldProblem[]) => new Refusal(problem(422, 'invalid', 'The request does not have the right form', { errors })),
  /** What was asked does not fit what is there now. `detail` says why, without data. */
  conflict: (type: string, detail: string, more: Record<string, unknown> = {}) =>
    new Refusal(problem(409, type, 'This cannot be done now', { detail, ...more })),
  badRequest: (status: number) => new Refusal(problem(status, 'malformed', 'The request cannot be read')),
  unavailable: () => new Refusal(problem(503, 'unavailable', 'A part that is needed does not answer; try again')),
  internal: () => new Refusal(problem(500, 'internal', 'Something failed here; the log says what')),
};
