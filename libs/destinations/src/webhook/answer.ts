import type { FailureClass } from '#contracts';
import type { Outcome } from '#delivery';
import type { HttpResult } from '../http/http-caller.js';

/** What a generic webhook's answer means. 2xx is done unless its body says otherwise; everything else by status. */
export function readAnswer(result: HttpResult, nowMs: number): Outcome {
  if (result.kind === 'not_sent') return { kind: 'transient', code: result.code, provablyNotExecuted: true };
  if (result.kind === 'no_answer') return { kind: 'uncertain', code: result.code };
  const { status, headers } = result;
  const body = parse(result.body);
  const common = { status, providerRequestId: text(headers['x-request-id'] ?? headers['request-id']) };
  if (status >= 200 && status < 300) return { ...common, ...done(body) };
  return { ...common, ...refused(status, body, retryAfterMs(text(headers['retry-after']), nowMs)) };
}

type Body = Record<string, unknown> | undefined;

function parse(body: string | undefined): Body {
  try {
    const value: unknown = JSON.parse(body ?? '');
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function text(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.at(-1) : value;
}

function done(body: Body): Outcome {
  if (body !== undefined && (body.ok === false || body.success === false || isError(body.error) || isError(body.errors))) {
    return { kind: 'permanent', class: 'permanent', code: providerCode(body) ?? 'error_body' };
  }
  const id = body?.id;
  return { kind: 'succeeded', ref: typeof id === 'string' || typeof id === 'number' ? String(id) : undefined };
}

const isError = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && !(Array.isArray(value) && value.length === 0);

const classes: Readonly<Record<number, FailureClass>> = { 401: 'auth', 403: 'auth', 409: 'conflict', 413: 'oversize' };

function refused(status: number, body: Body, afterMs: number | undefined): Outcome {
  const code = `http_${status}`;
  if (status === 429) return { kind: 'throttled', code, afterMs };
  if (status === 425) return { kind: 'transient', code, provablyNotExecuted: true, afterMs };
  // The server gave up waiting for a request that it may have had in full.
  if (status === 408) return { kind: 'uncertain', code, afterMs };
  if (status >= 500) return { kind: 'uncertain', code, afterMs };
  return { kind: 'permanent', class: classes[status] ?? 'permanent', code: providerCode(body) ?? code };
}

/** The provider's own word for it, where it is one word; its prose may quote the lead. */
function providerCode(body: Body): string | undefined {
  const error = body?.error;
  const nested = typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : error;
  const code = body?.code ?? nested;
  return typeof code === 'string' && /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/.test(code) ? code : undefined;
}

/** `Retry-After` in seconds or as a date; nothing where it is neither or over. */
export function retryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(value.trim()) ? Number(value) * 1_000 : Date.parse(value) - nowMs;
  return Number.isFinite(ms) && ms > 0 ? ms : undefined;
}
