import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { failureClasses } from '#contracts';
import type { ErrorRule } from '#runtime';
import type { HttpResult } from '../http/http-caller.js';
import { type AnswerContext, readAnswer } from './answer.js';

const now = Date.parse('2026-03-01T00:00:00Z');
const context: AnswerContext = { nowMs: now, operation: 'lead', errors: [], canLookUp: true };
const answered = (status: number, body?: unknown, headers: Record<string, string> = {}): HttpResult => ({
  kind: 'answered',
  status,
  headers,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

/**
 * What each status must come to for a destination that says nothing of its own, written down from the texts that define them: RFC 9110
 * (section in brackets), others by name. `uncertain` is whatever may have been executed.
 */
const statuses: [status: number, outcome: string, more: object, source: string][] = [
  [200, 'succeeded', {}, '[15.3.1]'],
  [201, 'succeeded', {}, '[15.3.2]'],
  [202, 'succeeded', {}, '[15.3.3] accepted; whether it was done shows in reconciliation'],
  [204, 'succeeded', {}, '[15.3.5]'],
  [207, 'succeeded', {}, 'RFC 4918 11.1'],
  [300, 'permanent', { class: 'permanent' }, '[15.4.1] several candidates: never the first'],
  [301, 'permanent', { class: 'permanent' }, 'Standard Webhooks: a redirect is a failure and is not followed'],
  [302, 'permanent', { class: 'permanent' }, 'Standard Webhooks, as 301'],
  [304, 'permanent', { class: 'permanent' }, '[15.4.5]'],
  [307, 'permanent', { class: 'permanent' }, 'Standard Webhooks, as 301'],
  [308, 'permanent', { class: 'permanent' }, 'Standard Webhooks, as 301'],
  [400, 'permanent', { class: 'permanent' }, '[15.5.1] cannot or will not process: client error'],
  [401, 'auth', {}, '[15.5.2] lacks valid credentials'],
  [402, 'permanent', { class: 'permanent' }, '[15.5.3]'],
  [403, 'auth', {}, '[15.5.4] credentials considered insufficient'],
  [404, 'permanent', { class: 'permanent' }, '[15.5.5]'],
  [405, 'permanent', { class: 'permanent' }, '[15.5.6]'],
  [406, 'permanent', { class: 'permanent' }, '[15.5.7]'],
  [407, 'permanent', { class: 'permanent' }, '[15.5.8]'],
  [408, 'uncertain', {}, '[15.5.9] did not get a complete request in time; whether our last bytes came first is not known'],
  [409, 'permanent', { class: 'conflict' }, '[15.5.10] conflict with the current state of the resource'],
  [410, 'permanent', { class: 'permanent' }, '[15.5.11], Standard Webhooks: gone, stop sending'],
  [411, 'permanent', { class: 'permanent' }, '[15.5.12]'],
  [412, 'permanent', { class: 'permanent' }, '[15.5.13]'],
  [413, 'permanent', { class: 'oversize' }, '[15.5.14] content larger than the server will process'],
  [414, 'permanent', { class: 'permanent' }, '[15.5.15]'],
  [415, 'permanent', { class: 'permanent' }, '[15.5.16]'],
  [417, 'permanent', { class: 'permanent' }, '[15.5.18]'],
  [421, 'transient', { provablyNotExecuted: true }, '[15.5.20] unable to produce an authoritative response; may be retried'],
  [422, 'permanent', { class: 'permanent' }, '[15.5.21]'],
  [423, 'transient', { provablyNotExecuted: true }, 'RFC 4918 11.3 locked; HubSpot: record locked, wait 2 s or more'],
  [424, 'permanent', { class: 'permanent' }, 'RFC 4918 11.4'],
  [425, 'transient', { provablyNotExecuted: true }, 'RFC 8470 5.2 too early: not processed'],
  [426, 'permanent', { class: 'permanent' }, '[15.5.22]'],
  [428, 'permanent', { class: 'permanent' }, 'RFC 6585 3'],
  [429, 'throttled', {}, 'RFC 6585 4 too many requests'],
  [431, 'permanent', { class: 'permanent' }, 'RFC 6585 5'],
  [451, 'permanent', { class: 'permanent' }, 'RFC 7725 3'],
  [500, 'uncertain', {}, '[15.6.1] unexpected condition, at whatever point'],
  [501, 'uncertain', {}, '[15.6.2]'],
  [502, 'uncertain', {}, '[15.6.3] a gateway whose server answered wrongly, perhaps after the work'],
  [503, 'uncertain', {}, '[15.6.4] temporary; a proxy says it also for a server that was at work'],
  [504, 'uncertain', {}, '[15.6.5] a gateway that did not wait for the answer'],
  [507, 'uncertain', {}, 'RFC 4918 11.5'],
  [511, 'uncertain', {}, 'RFC 6585 6'],
  [524, 'uncertain', {}, 'not registered; proxies: the origin did not answer in time'],
  [599, 'uncertain', {}, '[15] an unknown 5xx is treated as 500'],
];

describe('a status of its own accord', () => {
  it.each(statuses)('%i is %s %j: %s', (status, kind, more) => {
    expect(readAnswer(answered(status, '{}'), context)).toMatchObject({ kind, status, ...more });
  });

  it('has a row for every status that RFC 9110 lists for a final answer to a write', () => {
    const listed = [200, 201, 202, 204, 300, 301, 302, 304, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412];
    const more = [413, 414, 415, 417, 421, 422, 426, 500, 501, 502, 503, 504];
    expect([...listed, ...more].filter((status) => !statuses.some(([known]) => known === status))).toEqual([]);
  });
});

/** Documented answers of CRMs, and the rules a site file would carry for them. */
const vendors: ErrorRule[] = [
  { status: 403, code: 'REQUEST_LIMIT_EXCEEDED', outcome: 'throttled' },
  { status: 400, code: 'DUPLICATE_VALUE', outcome: 'duplicate' },
  { status: 400, code: 'UNABLE_TO_LOCK_ROW', outcome: 'transient' },
  { status: 400, code: 'CANNOT_UPDATE_CONVERTED_LEAD', operation: 'lead', outcome: 'succeeded' },
  { status: 409, code: 'OBJECT_ALREADY_EXISTS', outcome: 'duplicate' },
  { status: 409, code: 'duplicate_external_id', operation: 'lead', outcome: 'duplicate' },
  { status: 477, outcome: 'transient' },
  { status: 503, code: 'QUERY_LIMIT_EXCEEDED', outcome: 'throttled' },
  { status: 503, code: 'OVERLOAD_LIMIT', outcome: 'auth' },
  { status: 403, code: 'not_json', outcome: 'throttled' },
  { status: 400, code: 'PROTECTED_FIELD', outcome: 'permanent', class: 'protected_field' },
  { status: 200, code: 'internal_error', outcome: 'uncertain' },
];

const html = '<html><body>Sorry, you have been blocked</body></html>';
const answers: [source: string, status: number, body: unknown, expected: object][] = [
  ['HubSpot 429 by policy', 429, { policyName: 'TEN_SECONDLY_ROLLING' }, { kind: 'throttled', code: 'http_429' }],
  ['HubSpot 409 on create', 409, { status: 'error', category: 'CONFLICT' }, { kind: 'permanent', class: 'conflict', code: 'CONFLICT' }],
  ['HubSpot 409, newer shape', 409, { category: 'OBJECT_ALREADY_EXISTS', id: 51 }, { kind: 'duplicate', ref: '51' }],
  [
    'the same with an id that a double would round',
    409,
    '{"category":"OBJECT_ALREADY_EXISTS","id":9007199254740993}',
    { ref: '9007199254740993' },
  ],
  ['HubSpot 477 migration', 477, {}, { kind: 'transient', provablyNotExecuted: true }],
  ['HubSpot 400 validation', 400, { category: 'VALIDATION_ERROR' }, { kind: 'permanent', class: 'permanent', code: 'VALIDATION_ERROR' }],
  ['Salesforce quota', 403, [{ errorCode: 'REQUEST_LIMIT_EXCEEDED' }], { kind: 'throttled', code: 'REQUEST_LIMIT_EXCEEDED' }],
  ['Salesforce other 403', 403, [{ errorCode: 'INSUFFICIENT_ACCESS' }], { kind: 'auth', code: 'INSUFFICIENT_ACCESS' }],
  ['Salesforce session', 401, [{ errorCode: 'INVALID_SESSION_ID' }], { kind: 'auth', code: 'INVALID_SESSION_ID' }],
  ['Salesforce lock', 400, [{ errorCode: 'UNABLE_TO_LOCK_ROW' }], { kind: 'transient', provablyNotExecuted: true }],
  [
    'Salesforce duplicate, id in prose only',
    400,
    [{ errorCode: 'DUPLICATE_VALUE' }],
    { kind: 'uncertain', code: 'DUPLICATE_VALUE', answered: true },
  ],
  ['Salesforce converted lead', 400, [{ errorCode: 'CANNOT_UPDATE_CONVERTED_LEAD' }], { kind: 'succeeded' }],
  ['Salesforce several records', 300, ['/a', '/b'], { kind: 'permanent', code: 'http_300' }],
  ['Bitrix24 rate limit on 503', 503, { error: 'QUERY_LIMIT_EXCEEDED' }, { kind: 'throttled', code: 'QUERY_LIMIT_EXCEEDED' }],
  ['Bitrix24 blocked by the vendor', 503, { error: 'OVERLOAD_LIMIT' }, { kind: 'auth', code: 'OVERLOAD_LIMIT' }],
  ['Bitrix24 time limit', 429, { error: 'OPERATION_TIME_LIMIT' }, { kind: 'throttled', code: 'OPERATION_TIME_LIMIT' }],
  ['Bitrix24 unknown state', 500, { error: 'ERROR_UNEXPECTED_ANSWER' }, { kind: 'uncertain', code: 'ERROR_UNEXPECTED_ANSWER' }],
  ['Bitrix24 token', 401, { error: 'expired_token' }, { kind: 'auth', code: 'expired_token' }],
  ['Bitrix24 empty error code', 400, { error: '', error_description: 'x' }, { kind: 'permanent', code: 'http_400' }],
  ['Pipedrive behind its proxy', 403, html, { kind: 'throttled', code: 'http_403' }],
  ['Pipedrive refusal', 400, { success: false, error: 'Bad request' }, { kind: 'permanent', code: 'http_400' }],
  [
    'Tryton business error in a 200',
    200,
    { id: 1, error: ['UserError', ['must be unique', '']] },
    { kind: 'permanent', code: 'error_body' },
  ],
  ['Odoo error in a 200', 200, { error: { code: 200, message: 'Odoo Server Error' } }, { kind: 'permanent', code: 'error_body' }],
  ['Slack refusal in a 200', 200, { ok: false, error: 'channel_not_found' }, { kind: 'permanent', code: 'channel_not_found' }],
  ['Slack: part may have succeeded', 200, { ok: false, error: 'internal_error' }, { kind: 'uncertain', code: 'internal_error' }],
  ['an external id that is there', 409, { error: 'duplicate_external_id', id: 'l-7' }, { kind: 'duplicate', ref: 'l-7' }],
  ['a field that people keep', 400, { code: 'PROTECTED_FIELD' }, { kind: 'permanent', class: 'protected_field', code: 'PROTECTED_FIELD' }],
];

describe('an answer that a vendor documents', () => {
  it.each(answers)('%s', (_source, status, body, expected) => {
    expect(readAnswer(answered(status, body), { ...context, errors: vendors })).toMatchObject(expected);
  });

  it('counts for its operation alone where the rule names one', () => {
    const known = answered(409, { error: 'duplicate_external_id', id: 'l-7' });
    expect(readAnswer(known, { ...context, errors: vendors, operation: 'contact' })).toMatchObject({
      kind: 'permanent',
      class: 'conflict',
    });
  });

  it('that names a twin without its id is a conflict for a person where nothing can be looked up', () => {
    const twin = answered(400, [{ errorCode: 'DUPLICATE_VALUE' }]);
    expect(readAnswer(twin, { ...context, errors: vendors, canLookUp: false })).toMatchObject({ kind: 'permanent', class: 'conflict' });
  });
});

describe('an answer of a webhook', () => {
  it.each<[string, HttpResult, object]>([
    ['201 with an id', answered(201, { id: 'c-1' }), { kind: 'succeeded', ref: 'c-1' }],
    ['200 with a number for id', answered(200, { id: 42 }), { kind: 'succeeded', ref: '42' }],
    [
      '200 with a number that a double would round',
      answered(200, '{"id":9007199254740993}'),
      { kind: 'succeeded', ref: '9007199254740993' },
    ],
    [
      '200 with such a number under data',
      answered(200, '{"data":{"id":9007199254740993}}'),
      { kind: 'succeeded', ref: '9007199254740993' },
    ],
    ['200 with the id under data', answered(200, { success: true, data: { id: 'x' } }), { kind: 'succeeded', ref: 'x' }],
    ['200 without JSON', answered(200, 'OK'), { kind: 'succeeded', ref: undefined }],
    ['200 longer than is read', { kind: 'answered', status: 200, headers: {} }, { kind: 'succeeded', ref: undefined }],
    ['200 with a null error', answered(200, { id: '1', error: null, errors: [] }), { kind: 'succeeded', ref: '1' }],
    ['200 with an error', answered(200, { error: { code: 'DUPLICATE' } }), { kind: 'permanent', class: 'permanent', code: 'DUPLICATE' }],
    ['200 with prose for an error', answered(200, { error: 'Ada Example exists' }), { kind: 'permanent', code: 'error_body' }],
    ['422 with prose', answered(422, { message: 'no', error: 'ada@example.test is bad' }), { kind: 'permanent', code: 'http_422' }],
    ['429 with seconds', answered(429, undefined, { 'retry-after': '7' }), { kind: 'throttled', code: 'http_429', afterMs: 7_000 }],
    ['503 with a date', answered(503, '', { 'retry-after': 'Sun, 01 Mar 2026 00:01:00 GMT' }), { kind: 'uncertain', afterMs: 60_000 }],
    ['nothing, as no connection was made', { kind: 'not_sent', code: 'econnrefused' }, { kind: 'transient', provablyNotExecuted: true }],
    ['nothing, after it was sent', { kind: 'no_answer', code: 'timeout' }, { kind: 'uncertain', code: 'timeout' }],
  ])('%s', (_name, result, expected) => {
    expect(readAnswer(result, context)).toMatchObject(expected);
  });

  it('keeps status and request id of the provider', () => {
    expect(readAnswer(answered(500, '', { 'x-request-id': 'r-9' }), context)).toMatchObject({ status: 500, providerRequestId: 'r-9' });
  });
});

describe('a page in place of a record', () => {
  const page = '<!DOCTYPE html><html><body>Please wait</body></html>';
  const asHtml = { 'content-type': 'text/html; charset=utf-8' };

  it.each<[string, HttpResult]>([
    ['by its beginning', answered(200, page)],
    ['by its beginning, whatever it is called', answered(201, ` \n<HTML lang="en">`, { 'content-type': 'application/json' })],
    ['by what it is called', answered(200, '<!-- cached --><p>Blocked</p>', asHtml)],
    ['by what it is called, longer than is read', { kind: 'answered', status: 200, headers: asHtml }],
  ])('is known %s, and does not count as done where the operation can be looked up', (_how, result) => {
    expect(readAnswer(result, context)).toMatchObject({ kind: 'uncertain', code: 'html_answer' });
    expect(readAnswer(result, { ...context, canLookUp: false })).toMatchObject({ kind: 'succeeded' });
  });

  it('is an answer like any other where the destination’s own table says so', () => {
    const errors: ErrorRule[] = [{ status: 200, code: 'not_json', outcome: 'succeeded' }];
    expect(readAnswer(answered(200, page), { ...context, errors })).toMatchObject({ kind: 'succeeded' });
  });

  it.each<[string, string, object]>([
    ['JSON', '{"id":"7","note":"<b>"}', { ref: '7' }],
    ['a list', '[{"id":"7"}]', { ref: '7' }],
    ['a word', 'OK', {}],
    ['nothing', '', {}],
  ])('is not %s that a server calls HTML', (_what, body, more) => {
    expect(readAnswer(answered(200, body, asHtml), context)).toMatchObject({ kind: 'succeeded', ...more });
  });

  it('of a failing server means what its status means', () => {
    expect(readAnswer(answered(502, page, asHtml), context)).toMatchObject({ kind: 'uncertain', code: 'http_502' });
    expect(readAnswer(answered(404, page, asHtml), context)).toMatchObject({ kind: 'permanent', code: 'http_404' });
  });
});

const kinds = ['succeeded', 'duplicate', 'throttled', 'transient', 'uncertain', 'permanent', 'auth'];
const anyStatus = fc.integer({ min: 100, max: 999 });
const anyBody = fc.oneof(fc.string(), fc.json(), fc.constant(undefined), fc.constantFrom('{"error":true}', '[null]', 'null', '{"id":""}'));
const anyHeaders = fc.dictionary(
  fc.constantFrom('retry-after', 'x-request-id', 'request-id'),
  fc.oneof(fc.string(), fc.array(fc.string())),
);
const anyAnswer = fc
  .record({ status: anyStatus, body: anyBody, headers: anyHeaders })
  .map((parts): HttpResult & { kind: 'answered' } => ({ kind: 'answered', ...parts }));
const anyRule: fc.Arbitrary<ErrorRule> = fc.record(
  {
    status: fc.integer({ min: 200, max: 599 }),
    code: fc.constantFrom('a', 'b'),
    operation: fc.constantFrom('lead', 'contact'),
    outcome: fc.constantFrom<ErrorRule['outcome']>('succeeded', 'duplicate', 'throttled', 'transient', 'uncertain', 'permanent', 'auth'),
    class: fc.constantFrom(...failureClasses),
  },
  { requiredKeys: ['status', 'outcome'] },
);

describe('the meaning of any answer', () => {
  it('is one of the outcomes, the same each time, with a short word for a code', () => {
    const runs = fc.tuple(anyAnswer, fc.array(anyRule), fc.boolean());
    fc.assert(
      fc.property(runs, ([result, errors, canLookUp]) => {
        const told = { ...context, errors, canLookUp };
        const outcome = readAnswer(result, told);
        expect(kinds).toContain(outcome.kind);
        expect(readAnswer(result, told)).toEqual(outcome);
        if ('code' in outcome) expect(outcome.code).toMatch(/^[A-Za-z][\w.-]{0,63}$/);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is never uncertain for a 4xx but 408, and always for a 5xx, where the destination says nothing of its own', () => {
    fc.assert(
      fc.property(anyAnswer, fc.boolean(), (result, canLookUp) => {
        const { kind } = readAnswer(result, { ...context, canLookUp });
        if (result.status >= 400 && result.status < 500) expect(kind === 'uncertain').toBe(result.status === 408);
        if (result.status >= 500 && result.status < 600) expect(kind).toBe('uncertain');
      }),
      { numRuns: 1_000 },
    );
  });

  it('is that of the first rule that fits, whatever the status says by itself', () => {
    fc.assert(
      fc.property(fc.array(anyRule, { minLength: 1 }), fc.constantFrom('a', 'b', 'c'), (errors, code) => {
        const [first] = errors as [ErrorRule];
        const fits = (rule: ErrorRule) =>
          rule.status === first.status && (rule.code ?? code) === code && (rule.operation ?? 'lead') === 'lead';
        const expected = errors.find(fits);
        const outcome = readAnswer(answered(first.status, { code, id: 'r' }), { ...context, errors });
        if (expected !== undefined) expect(outcome.kind).toBe(expected.outcome);
        if (expected?.outcome === 'permanent') expect(outcome).toMatchObject({ class: expected.class ?? 'permanent' });
      }),
      { numRuns: 500 },
    );
  });

  it('says that nothing was executed only of what never left, and of answers that are documented to say so', () => {
    fc.assert(
      fc.property(anyAnswer, (result) => {
        const outcome = readAnswer(result, context);
        if (outcome.kind === 'transient') expect([421, 423, 425]).toContain(result.status);
        if (outcome.kind === 'throttled') expect(result.status).toBe(429);
      }),
    );
  });
});
