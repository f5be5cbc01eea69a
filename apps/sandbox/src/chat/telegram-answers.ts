import type { Answer } from '../http/call.js';

/** Descriptions as Telegram's own server words them. */
const reasons: Record<number, string> = {
  400: 'Bad Request: chat not found',
  401: 'Unauthorized',
  403: 'Forbidden: bot was blocked by the user',
  404: 'Not Found',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
};
const defaultRetryAfterSeconds = 1;

/** The answer to a refused call, with Telegram's words for the status unless others are given. */
export function telegramError(status: number, description = reasons[status] ?? `status ${status}`): Answer {
  return { status, body: { ok: false, error_code: status, description } };
}

/** The body of a refusal by rule; 429 repeats `Retry-After` (seconds, 1 when the rule names none) in `parameters`. */
export function telegramRefusal(status: number, headers: Record<string, string> = {}): unknown {
  if (status !== 429) return telegramError(status).body;
  const given = Object.entries(headers).find(([name]) => name.toLowerCase() === 'retry-after')?.[1];
  const seconds = Number(given ?? defaultRetryAfterSeconds);
  return { ok: false, error_code: 429, description: `Too Many Requests: retry after ${seconds}`, parameters: { retry_after: seconds } };
}
