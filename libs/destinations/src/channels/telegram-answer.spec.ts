import { describe, expect, it } from '@jest/globals';
import { readTelegramAnswer } from './telegram-answer.js';

const refusal = (error_code: number, extra: object = {}) => JSON.stringify({ ok: false, error_code, description: 'text', ...extra });

describe('readTelegramAnswer', () => {
  it.each([
    [200, '{"ok":true,"result":{"message_id":7}}', { kind: 'succeeded', ref: '7' }],
    [200, '{"ok":true,"result":{}}', { kind: 'succeeded', ref: undefined }],
    [200, '<html>', { kind: 'uncertain', code: 'unreadable_answer' }],
    [200, refusal(400), { kind: 'permanent', class: 'permanent', code: 'http_400' }],
    [400, refusal(400), { kind: 'permanent', class: 'permanent', code: 'http_400' }],
    [403, refusal(403), { kind: 'permanent', class: 'permanent', code: 'http_403' }],
    [401, refusal(401), { kind: 'auth', code: 'http_401' }],
    [404, refusal(404), { kind: 'auth', code: 'http_404' }],
    [429, refusal(429, { parameters: { retry_after: 3 } }), { kind: 'throttled', afterMs: 3_000 }],
    [429, 'slow down', { kind: 'throttled', afterMs: undefined }],
    [408, '', { kind: 'uncertain', code: 'http_408' }],
    [500, refusal(500), { kind: 'uncertain', code: 'http_500' }],
    [502, '<html>', { kind: 'uncertain', code: 'http_502' }],
    [302, '', { kind: 'uncertain', code: 'http_302' }],
  ])('reads status %i with %s', (status, body, expected) => {
    expect(readTelegramAnswer({ status, body })).toMatchObject({ status, ...expected });
  });

  it('takes the wait from the header where the body has none', () => {
    expect(readTelegramAnswer({ status: 429, body: '', retryAfter: '2' })).toMatchObject({ kind: 'throttled', afterMs: 2_000 });
    expect(readTelegramAnswer({ status: 429, body: '', retryAfter: 'soon' })).toMatchObject({ kind: 'throttled', afterMs: undefined });
  });
});
