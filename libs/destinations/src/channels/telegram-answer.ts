import type { Outcome } from '#delivery';

export interface TelegramAnswer {
  status: number;
  /** Seconds, as in the header. */
  retryAfter?: string;
  body: string;
}

interface Parsed {
  ok: boolean;
  error_code?: number;
  result?: { message_id?: number };
  parameters?: { retry_after?: number };
}

/**
 * What an answer of the Bot API means. The code in the body counts, not the HTTP status alone.
 * 429: not sent, wait as told. 400, 403 (blocked by its owner): this chat will never take it. 401, 404: the token is wrong, for all. 5xx and anything unreadable: it may
 * have been sent.
 */
export function readTelegramAnswer(answer: TelegramAnswer): Outcome {
  const { status } = answer;
  const body = parsed(answer.body);
  const code = body?.ok === false ? (body.error_code ?? status) : status;
  if (body?.ok === true && status < 300) return { kind: 'succeeded', status, ref: reference(body) };
  if (code === 429)
    return { kind: 'throttled', code: 'http_429', status, afterMs: waitMs(body?.parameters?.retry_after ?? answer.retryAfter) };
  if (code === 401 || code === 404) return { kind: 'auth', code: `http_${code}`, status };
  if (code >= 400 && code < 500 && code !== 408) return { kind: 'permanent', class: 'permanent', code: `http_${code}`, status };
  return { kind: 'uncertain', code: status < 300 ? 'unreadable_answer' : `http_${code}`, status };
}

function parsed(text: string): Parsed | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && typeof (value as Parsed).ok === 'boolean' ? (value as Parsed) : undefined;
  } catch {
    return undefined;
  }
}

function reference({ result }: Parsed): string | undefined {
  return typeof result?.message_id === 'number' ? String(result.message_id) : undefined;
}

function waitMs(seconds: number | string | undefined): number | undefined {
  const value = Number(seconds);
  return seconds !== undefined && Number.isFinite(value) && value >= 0 ? value * 1_000 : undefined;
}
