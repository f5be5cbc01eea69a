import type { FailureClass } from '#contracts';
import type { Outcome } from '#delivery';
import type { ErrorOutcome, ErrorRule } from '#runtime';
import type { HttpResult } from '../http/http-caller.js';
import { retryAfterMs } from '../http/retry-after.js';
import { notJson, type ProviderBody, readProviderBody } from './provider-body.js';

export interface AnswerContext {
  nowMs: number;
  /** Kind of the operation that was called. */
  operation: string;
  /** The destination's own table; it goes before the general one. */
  errors: readonly ErrorRule[];
  /** The operation can be looked up: an answer that names a record without its id is then found out. */
  canLookUp: boolean;
}

type Answered = Extract<HttpResult, { kind: 'answered' }>;

/** What an answer means by a rule or by its status: the outcome, and the class of a permanent one. */
interface Meaning {
  outcome: ErrorOutcome;
  class?: FailureClass;
  /** In place of a word of the destination's own. */
  word?: string;
}

/**
 * What one call to a generic webhook came to. Never throws; every answer has exactly one meaning: the destination's own table by (status,
 * code, operation) goes first, then a body that says that it failed or was not written by the destination, then the status.
 */
export function readAnswer(result: HttpResult, context: AnswerContext): Outcome {
  if (result.kind === 'not_sent') return { kind: 'transient', code: result.code, provablyNotExecuted: true };
  if (result.kind === 'no_answer') return { kind: 'uncertain', code: result.code };
  const { status, headers } = result;
  const body = readProviderBody(result.body);
  const common = { status, providerRequestId: single(headers['x-request-id'] ?? headers['request-id']) };
  const meaning = byRule(status, body, context) ?? byBody(status, body) ?? byPage(result, context) ?? byStatus(status);
  const afterMs = retryAfterMs(single(headers['retry-after']), context.nowMs);
  return { ...common, ...toOutcome(meaning, { status, body, afterMs, canLookUp: context.canLookUp }) };
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.at(-1) : value;
}

/** The words are read only where a rule asks for one: most answers are good and no rule names their status. */
function byRule(status: number, body: ProviderBody, { errors, operation }: AnswerContext): Meaning | undefined {
  return errors.find(
    (rule) =>
      rule.status === status &&
      (rule.code === undefined || body.words.includes(rule.code)) &&
      (rule.operation === undefined || rule.operation === operation),
  );
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

function byBody(status: number, { failed }: ProviderBody): Meaning | undefined {
  return isSuccess(status) && failed ? { outcome: 'permanent' } : undefined;
}

/** A page says nothing of a record: a proxy or a firewall may have answered and passed nothing on. Where nobody can be asked, its status counts. */
function byPage({ status, headers, body }: Answered, { canLookUp }: AnswerContext): Meaning | undefined {
  if (!canLookUp || !isSuccess(status) || !isHtml(body, single(headers['content-type']))) return undefined;
  return { outcome: 'uncertain', word: 'html_answer' };
}

const beginsAsHtml = /^\s*<(?:!doctype\s+html|html|head|body)\b/i;
const beginsAsJson = /^\s*[[{"]/;

/** By its beginning, or by what it calls itself: also JSON, a plain word and nothing at all are called HTML by servers that are not told. */
function isHtml(body: string | undefined, contentType = ''): boolean {
  const calledHtml = /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(contentType);
  if (body === undefined) return calledHtml;
  return beginsAsHtml.test(body) || (calledHtml && body.includes('<') && !beginsAsJson.test(body));
}

/**
 * Statuses that mean something of their own. 408: the server gave up waiting for a request that it may have had in full. 421, 423, 425: it
 * did not begin with it. Any other 4xx is a refusal; what a 5xx did is not known; redirects are not followed.
 */
const meanings: Readonly<Record<number, Meaning>> = {
  401: { outcome: 'auth' },
  403: { outcome: 'auth' },
  408: { outcome: 'uncertain' },
  409: { outcome: 'permanent', class: 'conflict' },
  413: { outcome: 'permanent', class: 'oversize' },
  421: { outcome: 'transient' },
  423: { outcome: 'transient' },
  425: { outcome: 'transient' },
  429: { outcome: 'throttled' },
};

function byStatus(status: number): Meaning {
  if (isSuccess(status)) return { outcome: 'succeeded' };
  return meanings[status] ?? { outcome: status >= 500 ? 'uncertain' : 'permanent' };
}

interface Said {
  status: number;
  body: ProviderBody;
  afterMs?: number;
  canLookUp: boolean;
}

function toOutcome(meaning: Meaning, { status, body, afterMs, canLookUp }: Said): Outcome {
  if (meaning.outcome === 'succeeded') return { kind: 'succeeded', ref: body.ref };
  const ownWord = meaning.word ?? body.words.find((word) => word !== notJson);
  const code = ownWord ?? (isSuccess(status) ? 'error_body' : `http_${status}`);
  switch (meaning.outcome) {
    case 'duplicate':
      if (body.ref !== undefined) return { kind: 'duplicate', ref: body.ref };
      // It holds the record and does not say which: a lookup tells, or a person.
      return canLookUp ? { kind: 'uncertain', code, answered: true } : { kind: 'permanent', class: 'conflict', code };
    case 'transient':
      return { kind: 'transient', code, provablyNotExecuted: true, afterMs };
    case 'permanent':
      return { kind: 'permanent', class: meaning.class ?? 'permanent', code };
    case 'throttled':
    case 'uncertain':
      return { kind: meaning.outcome, code, afterMs };
    case 'auth':
      return { kind: 'auth', code };
  }
}
