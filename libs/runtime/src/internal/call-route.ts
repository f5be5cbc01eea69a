import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { describeIssues } from '../config/describe-issues.js';
import { DatabaseUnavailable } from '../database/database-errors.js';
import type { FieldProblem } from '../http/problem.js';
import { InternalUnavailable } from './internal-client.js';
import { BodyTooLarge, readBody } from './read-body.js';

export interface InternalRoute<B extends z.ZodType> {
  /** Caller names that may use it. */
  callers: string[];
  /** Limit of the body's `items`; default 500. */
  maxItems?: number;
  body: B;
}

export type InternalHandler<B extends z.ZodType> = (body: z.infer<B>, context: { caller: string }) => Promise<unknown>;

/** Why a request is not answered: a status, a problem type and words without data. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly safeMessage = true;
  errors?: FieldProblem[];
  constructor(
    readonly status: number,
    readonly type: string,
    readonly title: string,
  ) {
    super(title);
  }

  /** The refusal an error stands for. */
  static from(error: unknown): Refusal {
    if (error instanceof Refusal) return error;
    if (error instanceof BodyTooLarge) return new Refusal(413, 'too-large', 'The body is too large');
    if (error instanceof DatabaseUnavailable || error instanceof InternalUnavailable) {
      return new Refusal(503, 'unavailable', 'Not available at the moment');
    }
    return new Refusal(500, 'internal', 'Something failed here; the log says what');
  }
}

/** 500 items with an id each need far less; a batch that carries data needs about this much. */
const maxBodyBytes = 4 * 1_024 * 1_024;
const defaultMaxItems = 500;

interface Call<B extends z.ZodType> {
  route: InternalRoute<B>;
  handler: InternalHandler<B>;
  request: IncomingMessage;
  caller: string;
}

/** Checks caller, size and form of one request and runs its handler. Throws Refusal, or what the handler throws. */
export async function callRoute<B extends z.ZodType>({ route, handler, request, caller }: Call<B>): Promise<unknown> {
  if (!route.callers.includes(caller)) throw new Refusal(403, 'forbidden', 'This caller may not use this route');
  const body = parseJson(await readBody(request, maxBodyBytes));
  const maxItems = route.maxItems ?? defaultMaxItems;
  if (itemCount(body) > maxItems) throw new Refusal(413, 'too-many-items', `More than ${maxItems} items`);
  const parsed = route.body.safeParse(body);
  if (parsed.success) return handler(parsed.data, { caller });
  const refusal = new Refusal(422, 'invalid', 'The body does not have the right form');
  refusal.errors = describeIssues(parsed.error.issues, body).map(({ path, ...rest }) => ({ field: path, ...rest }));
  throw refusal;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal(400, 'malformed', 'The body is not JSON');
  }
}

function itemCount(body: unknown): number {
  const items = (body as { items?: unknown } | null)?.items;
  return Array.isArray(items) ? items.length : 0;
}
