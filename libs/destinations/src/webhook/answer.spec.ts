import { describe, expect, it } from '@jest/globals';
import type { HttpResult } from '../http/http-caller.js';
import { readAnswer, retryAfterMs } from './answer.js';

const now = Date.parse('2026-03-01T00:00:00Z');
const answered = (status: number, body?: unknown, headers: Record<string, string> = {}): HttpResult => ({
  kind: 'answered',
  status,
  headers,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

describe('an answer of a webhook', () => {
  it.each<[string, HttpResult, object]>([
    ['201 with an id', answered(201, { id: 'c-1' }), { kind: 'succeeded', ref: 'c-1' }],
    ['200 with a number for id', answered(200, { id: 42 }), { kind: 'succeeded', ref: '42' }],
    ['200 without JSON', answered(200, 'OK'), { kind: 'succeeded', ref: undefined }],
    ['204', answered(204), { kind: 'succeeded' }],
    ['200 with a null error', answered(200, { id: '1', error: null, errors: [] }), { kind: 'succeeded', ref: '1' }],
    ['200 with an error', answered(200, { error: { code: 'DUPLICATE' } }), { kind: 'permanent', class: 'permanent', code: 'DUPLICATE' }],
    ['200 with ok false', answered(200, { ok: false, error: 'too_long' }), { kind: 'permanent', code: 'too_long' }],
    ['200 with prose for an error', answered(200, { error: 'Ada Example exists' }), { kind: 'permanent', code: 'error_body' }],
    ['302', answered(302), { kind: 'permanent', class: 'permanent', code: 'http_302' }],
    ['400', answered(400, { code: 'bad_field' }), { kind: 'permanent', class: 'permanent', code: 'bad_field' }],
    ['401', answered(401), { kind: 'permanent', class: 'auth', code: 'http_401' }],
    ['403', answered(403), { kind: 'permanent', class: 'auth', code: 'http_403' }],
    ['404', answered(404), { kind: 'permanent', class: 'permanent', code: 'http_404' }],
    ['408', answered(408), { kind: 'uncertain', code: 'http_408' }],
    ['409', answered(409), { kind: 'permanent', class: 'conflict', code: 'http_409' }],
    ['413', answered(413), { kind: 'permanent', class: 'oversize', code: 'http_413' }],
    ['422', answered(422, { message: 'no' }), { kind: 'permanent', class: 'permanent', code: 'http_422' }],
    ['425', answered(425), { kind: 'transient', provablyNotExecuted: true }],
    ['429 with seconds', answered(429, undefined, { 'retry-after': '7' }), { kind: 'throttled', code: 'http_429', afterMs: 7_000 }],
    ['500', answered(500), { kind: 'uncertain', code: 'http_500' }],
    ['503 with a date', answered(503, '', { 'retry-after': 'Sun, 01 Mar 2026 00:01:00 GMT' }), { kind: 'uncertain', afterMs: 60_000 }],
    ['nothing, as no connection was made', { kind: 'not_sent', code: 'econnrefused' }, { kind: 'transient', provablyNotExecuted: true }],
    ['nothing, after it was sent', { kind: 'no_answer', code: 'timeout' }, { kind: 'uncertain', code: 'timeout' }],
  ])('%s', (_name, result, expected) => {
    expect(readAnswer(result, now)).toMatchObject(expected);
  });

  it('keeps status and request id of the provider', () => {
    expect(readAnswer(answered(500, '', { 'x-request-id': 'r-9' }), now)).toMatchObject({ status: 500, providerRequestId: 'r-9' });
  });

  it.each([
    ['soon', undefined],
    ['-3', undefined],
    ['0', undefined],
    ['Sat, 28 Feb 2026 23:59:00 GMT', undefined],
    ['120', 120_000],
  ])('reads Retry-After %s as %s', (value, expected) => {
    expect(retryAfterMs(value, now)).toBe(expected);
  });
});
