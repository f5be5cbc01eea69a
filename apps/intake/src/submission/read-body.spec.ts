import { describe, expect, it } from '@jest/globals';
import { readBody } from './read-body.js';

const smallest = {
  source_event_id: 'web-1001',
  form: 'contact',
  campaign: 'autumn',
  contact: { name: 'Ada Example', email: 'ada@example.test', phone: '+12025550123' },
  message: 'Please call me',
  consent: { given: true, at: '2026-01-31T09:30:00Z' },
};

const read = (body: unknown, key?: string) => readBody(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), key);

function errorsOf(body: unknown, key?: string): { reason: string; errors: Record<string, string> } {
  const result = read(body, key);
  if (result.ok || result.reason === 'malformed') throw new Error('expected field errors');
  return { reason: result.reason, errors: Object.fromEntries(result.errors.map(({ field, problem }) => [field, problem])) };
}

function rawOf(body: unknown, key?: string) {
  const result = read(body, key);
  if (!result.ok) throw new Error(JSON.stringify(result));
  return result.raw;
}

describe('readBody', () => {
  it('reads the smallest body', () => {
    expect(rawOf(smallest)).toEqual({
      sourceEventId: 'web-1001',
      form: 'contact',
      campaign: 'autumn',
      submittedAt: null,
      contact: { name: 'Ada Example', email: 'ada@example.test', phone: '+12025550123' },
      message: 'Please call me',
      consent: { given: true, at: new Date('2026-01-31T09:30:00Z') },
      custom: {},
      supersedes: null,
      test: false,
    });
  });

  it('tells absent and null from empty', () => {
    const raw = rawOf({ source_event_id: 'a', contact: { name: '', email: null }, consent: { given: false }, message: '' });
    expect(raw.contact).toEqual({ name: '', email: null, phone: null });
    expect(raw.message).toBe('');
    expect(raw.form).toBeNull();
  });

  it('keeps every digit of an integer that a double cannot hold', () => {
    const body = JSON.stringify({ ...smallest, custom: { int64: 0, safe: 42, part: 0.5 } }).replace(
      '"int64":0',
      '"int64":9223372036854775807',
    );
    expect(rawOf(body).custom).toEqual({ int64: '9223372036854775807', safe: 42, part: 0.5 });
  });

  it.each([
    ['9007199254740993', '9007199254740993'],
    ['9007199254740992', 9007199254740992],
    ['-9223372036854775808', '-9223372036854775808'],
    ['0.1000000000000000055511151231257827', '0.1000000000000000055511151231257827'],
    ['1e400', '1e400'],
    ['1e-400', '1e-400'],
    ['1e3', 1000],
    ['0.1', 0.1],
    ['1234567890123456', 1234567890123456],
  ])('carries the number %s as %p', (text, expected) => {
    const body = JSON.stringify({ ...smallest, custom: { n: 0 } }).replace('"n":0', `"n":${text}`);
    expect(rawOf(body).custom).toEqual({ n: expected });
  });

  it('refuses a long integer where text is asked for, instead of rounding it', () => {
    const body = JSON.stringify({ ...smallest, source_event_id: 0 }).replace(
      '"source_event_id":0',
      '"source_event_id":9223372036854775807',
    );
    expect(errorsOf(body)).toEqual({ reason: 'invalid', errors: { source_event_id: 'is not text' } });
  });

  it('names every wrong field at once', () => {
    const body = { source_event_id: 'a', contact: { email: 5 }, consent: { at: 'yesterday' }, form: [], mesage: 'x', test: 'yes' };
    expect(errorsOf(body).errors).toEqual({
      'contact.email': 'is not text',
      'consent.given': 'is missing',
      'consent.at': 'is not a time',
      form: 'is not text',
      mesage: 'is not a field of a lead',
      test: 'is not true or false',
    });
  });

  it('names a body that is no object', () => {
    expect(errorsOf('[]', 'key-1').errors).toEqual({ body: 'is not an object' });
    expect(errorsOf('null', 'key-1').errors).toEqual({ body: 'is not an object' });
  });

  it('refuses nested custom values by name', () => {
    const custom = { ok: 'a', list: ['x'], object: { a: 1 } };
    expect(Object.keys(errorsOf({ ...smallest, custom }).errors)).toEqual(['custom.list', 'custom.object']);
  });

  it('never repeats a value, nor a name that may be one', () => {
    const planted = 'ada@example.test';
    const body = { ...smallest, [planted]: planted, custom: { [planted]: [planted], '+12025550123': {} }, message: { planted } };
    const result = read(body);
    expect(result.ok).toBe(false);
    expect(JSON.stringify(result)).not.toMatch(/ada|2025550123/);
    expect(Object.keys(errorsOf(body).errors).sort()).toEqual(['body[0]', 'custom[0]', 'custom[1]', 'message']);
  });

  it('keeps a field named __proto__ visible, so that it can be refused by name', () => {
    const body = JSON.stringify({ ...smallest, custom: { x: 'y' } }).replace('"x"', '"__proto__"');
    expect(Object.keys(rawOf(body).custom)).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>).y).toBeUndefined();
    const top = JSON.stringify({ ...smallest, x: { test: true } }).replace('"x"', '"__proto__"');
    expect(Object.entries(errorsOf(top).errors)).toEqual([['__proto__', 'is not a field of a lead']]);
  });

  it('calls what is not JSON or not UTF-8 malformed, without a part of it', () => {
    expect(read('{"contact": "ada@example.test')).toEqual({
      ok: false,
      test: false,
      reason: 'malformed',
      detail: 'The body is not valid JSON',
    });
    expect(read('')).toMatchObject({ reason: 'malformed' });
    expect(readBody(Buffer.from([0x22, 0xff, 0xfe, 0x22]), undefined)).toEqual({
      ok: false,
      test: false,
      reason: 'malformed',
      detail: 'The body is not valid UTF-8',
    });
  });

  it('says of a test lead that it is one, whatever else is wrong, and guesses nothing', () => {
    const text = JSON.stringify({ ...smallest, test: true });
    const { source_event_id: _, ...without } = smallest;
    const tests: [unknown, boolean][] = [
      [text, true],
      [smallest, false],
      [{ ...smallest, test: true, mesage: 'x' }, true],
      [{ ...without, test: true }, true],
      [text.replace('"form"', '"form":"other","form"'), true],
      [text.replace('"test":true', '"test":false,"test":true'), false],
      [{ ...smallest, test: 'true' }, false],
      ['[true]', false],
    ];
    expect(tests.map(([body]) => read(body).test)).toEqual(tests.map(([, test]) => test));
  });

  it('reads past a byte order mark', () => {
    expect(read(`\uFEFF${JSON.stringify(smallest)}`).ok).toBe(true);
  });

  it('survives hostile nesting', () => {
    expect(read(`${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'k').ok).toBe(false);
    const body = JSON.stringify({ ...smallest, custom: { a: 0 } }).replace('"a":0', `"a":${'['.repeat(50_000)}${']'.repeat(50_000)}`);
    expect(errorsOf(body).errors).toEqual({ 'custom.a': 'is not text, a number, true, false or null' });
  });

  describe('the submission id', () => {
    const { source_event_id: _, ...without } = smallest;

    it('is the Idempotency-Key where only that is sent, quoted or not', () => {
      expect(rawOf(without, 'key-1').sourceEventId).toBe('key-1');
      expect(rawOf(without, '"key 1"').sourceEventId).toBe('key 1');
      expect(rawOf({ ...without, source_event_id: null }, 'key-1').sourceEventId).toBe('key-1');
    });

    it('may stand in both places with the same value', () => {
      expect(rawOf(smallest, 'web-1001').sourceEventId).toBe('web-1001');
    });

    it('is refused on both fields where they differ', () => {
      expect(Object.keys(errorsOf(smallest, 'web-1002').errors)).toEqual(['source_event_id', 'Idempotency-Key']);
      expect(errorsOf(smallest, 'web-1002').reason).toBe('invalid');
    });

    it('is missing where neither is sent', () => {
      expect(errorsOf(without)).toMatchObject({ reason: 'missing_id' });
      expect(Object.keys(errorsOf(without).errors)).toEqual(['source_event_id', 'Idempotency-Key']);
    });

    it('is refused where the header cannot be told from other bytes', () => {
      expect(Object.keys(errorsOf(without, 'Käse').errors)).toEqual(['Idempotency-Key']);
      expect(Object.keys(errorsOf(without, '').errors)).toEqual(['Idempotency-Key']);
    });
  });
});
