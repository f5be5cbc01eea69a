import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ExactNumber, parseExactJson, parseJsonWithDigits } from './exact-json.js';

describe('JSON without loss', () => {
  it('keeps every digit of a number that a double would round, and other numbers as numbers', () => {
    const text = '{"id":9007199254740993,"list":[-9007199254740993, 1e400],"small":42,"half":0.5,"said":"9007199254740993"}';
    const rest = { small: 42, half: 0.5, said: '9007199254740993' };
    expect(parseJsonWithDigits(text)).toEqual({ id: '9007199254740993', list: ['-9007199254740993', '1e400'], ...rest });
    expect(parseExactJson(Buffer.from(text)).value).toEqual({
      id: new ExactNumber('9007199254740993'),
      list: [new ExactNumber('-9007199254740993'), new ExactNumber('1e400')],
      ...rest,
    });
  });

  it('gives any whole number under a name as it was written', () => {
    const written = fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String);
    fc.assert(fc.property(written, (digits) => String((parseJsonWithDigits(`{"id":${digits}}`) as { id: unknown }).id) === digits));
  });

  it('says of text that is none only that it is none', () => {
    expect(() => parseJsonWithDigits('{"email":"ada@example.test')).toThrow(new SyntaxError('The body is not valid JSON'));
  });
});
