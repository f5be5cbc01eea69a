import type { FailureClass } from '#contracts';
import type { Outcome } from '#delivery';
import type { HttpResult } from '../http/http-caller.js';
import { retryAfterMs } from '../http/retry-after.js';

/** What is no success, whatever was called. */
export type Failure = Extract<Outcome, { code: string }>;

/**
 * What one remote call came to. `refused`: the server's own rules said no, and its transaction was rolled back. `concurrent`: a record was
 * changed since it was read; rolled back as well. `unauthorized`: the session is not valid any more, nothing was executed.
 */
export type RpcResult =
  | { kind: 'ok'; value: unknown }
  | { kind: 'refused'; code: string }
  | { kind: 'concurrent' }
  | { kind: 'unauthorized' }
  | { kind: 'failed'; failure: Failure };

/** Reads the answer to one JSON-RPC call. Never throws. Texts of the server can quote the lead: they are recognised and never passed on. */
export function readRpc(result: HttpResult, nowMs: number): RpcResult {
  if (result.kind === 'not_sent') return failed({ kind: 'transient', code: result.code, provablyNotExecuted: true });
  if (result.kind === 'no_answer') return failed({ kind: 'uncertain', code: result.code });
  const { status, headers, body } = result;
  if (status === 401) return { kind: 'unauthorized' };
  if (status !== 200) return failed(byStatus(status, retryAfterMs(single(headers['retry-after']), nowMs)));
  const answer = parse(body);
  // A page of something in front of the server, or an answer that is longer than allowed.
  if (answer === undefined) return failed({ kind: 'uncertain', code: 'not_json', status });
  return 'error' in answer ? byError(answer.error) : { kind: 'ok', value: answer.result };
}

const failed = (failure: Failure): RpcResult => ({ kind: 'failed', failure });

const single = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value.at(-1) : value);

function parse(body: string | undefined): { result?: unknown; error?: unknown } | undefined {
  try {
    const answer: unknown = JSON.parse(body ?? '');
    const isAnswer = typeof answer === 'object' && answer !== null && ('result' in answer || 'error' in answer);
    return isAnswer ? answer : undefined;
  } catch {
    return undefined;
  }
}

/**
 * 403: the method is not there or not for us. 404: there is no such database. Both concern all leads, unless the check call says otherwise.
 * 429 comes without Retry-After. A 5xx says nothing of what was done.
 */
function byStatus(status: number, afterMs: number | undefined): Failure {
  const code = `http_${status}`;
  if (status === 429) return { kind: 'throttled', code, status, afterMs };
  if (status === 403) return { kind: 'auth', code, status };
  if (status === 404) return { kind: 'auth', code: 'no_such_database', status };
  if (status === 408 || status >= 500) return { kind: 'uncertain', code, status, afterMs };
  return { kind: 'permanent', class: status === 413 ? 'oversize' : 'permanent', code, status };
}

/** Errors come with status 200: `["UserError", [text, description, domain]]`, `["ConcurrencyException", text]`, or text and traceback of any other. */
function byError(error: unknown): RpcResult {
  const [name, detail] = Array.isArray(error) ? (error as unknown[]) : [error];
  switch (name) {
    case 'UserError':
      return byText(Array.isArray(detail) ? detail[0] : detail);
    case 'UserWarning':
      // A question to a person: nobody is there who could answer it.
      return refusal('user_warning');
    case 'ConcurrencyException':
      return { kind: 'concurrent' };
    case 'LoginException':
      return failed({ kind: 'auth', code: 'login_wanted', status: 200 });
    default:
      return byName(name);
  }
}

/** Python's KeyError: a field or model that this server does not have, found before anything was written. */
const unknownName = /^'[A-Za-z_][\w.]*'$/;

/** Any other exception is a defect or an outage of the server, like a 5xx. */
function byName(text: unknown): RpcResult {
  if (typeof text === 'string' && unknownName.test(text)) {
    return failed({ kind: 'permanent', class: 'permanent', code: 'unknown_name', status: 200 });
  }
  return failed({ kind: 'uncertain', code: 'server_error', status: 200 });
}

/** In English, which every call asks for; what is not recognised is a refusal all the same. */
const refusals: readonly [RegExp, string][] = [
  [/must be unique/, 'not_unique'],
  [/is required|required on/, 'required'],
  [/domain/, 'not_valid'],
  [/too long|size/, 'too_long'],
];

function byText(text: unknown): RpcResult {
  if (typeof text !== 'string') return refusal('user_error');
  if (text.startsWith('You are not allowed to')) return failed({ kind: 'auth', code: 'not_allowed', status: 200 });
  return refusal(refusals.find(([form]) => form.test(text))?.[1] ?? 'user_error');
}

const refusal = (code: string): RpcResult => ({ kind: 'refused', code });

/** A refusal as the end of an operation. */
export const permanently = (code: string, failureClass: FailureClass = 'permanent'): Failure => ({
  kind: 'permanent',
  class: failureClass,
  code,
  status: 200,
});

/** What is not `ok`, as an outcome; a session that is refused twice, or a record that keeps changing, included. */
export function failureOf(result: Exclude<RpcResult, { kind: 'ok' }>): Failure {
  switch (result.kind) {
    case 'refused':
      return permanently(result.code);
    case 'concurrent':
      return { kind: 'transient', code: 'changed_meanwhile', provablyNotExecuted: true, status: 200 };
    case 'unauthorized':
      return { kind: 'auth', code: 'session_refused', status: 401 };
    case 'failed':
      return result.failure;
  }
}
