import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseExactJson } from '#runtime';
import { repeatedNames } from './repeated-names.js';

const repeatedIn = (text: string): string[] => {
  const parsed = parseExactJson(Buffer.from(text));
  return repeatedNames(parsed.text, parsed.value);
};

describe('names that stand twice in an object', () => {
  it.each([
    ['{"a":1,"a":1}', ['a']],
    ['{"a":1,"b":{"c":1,"c":2},"b":3}', ['b.c', 'b']],
    ['{"contact":{"email":"x","em\\u0061il":"y"}}', ['contact.email']],
    ['{"a" : 1 ,\n"a"\t:2}', ['a']],
    ['{"custom":{"not a name":1,"not a name":2}}', ['custom[1]']],
    ['[{"a":1},{"a":1,"a":2}]', ['a']],
    ['{"a":"\\":","a":9007199254740993}', ['a']],
    ['{"__proto__":1,"__proto__":2}', ['__proto__']],
  ])('%s', (text, paths) => {
    expect(repeatedIn(text)).toEqual(paths);
  });

  it.each(['{"a":"\\"a\\":1"}', '{"a":{"a":1},"b":{"a":"x\\\\"}}', '["\\":","\\":"]', '"\\":"', '1', '{"a":9007199254740993}'])(
    'are none in %s',
    (text) => {
      expect(repeatedIn(text)).toEqual([]);
    },
  );

  it('are never found in what JSON.stringify wrote, and always where one is added', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string(),
          fc.json().map((text) => JSON.parse(text) as unknown),
          { minKeys: 1 },
        ),
        (value) => {
          const text = JSON.stringify(value);
          expect(repeatedIn(text)).toEqual([]);
          const name = JSON.stringify(Object.keys(value)[0]);
          expect(repeatedIn(`${text.slice(0, -1)},${name}:null}`)).toHaveLength(1);
        },
      ),
    );
  });
});
