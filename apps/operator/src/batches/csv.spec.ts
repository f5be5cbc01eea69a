import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { csvField, csvLine } from './csv.js';

it.each([
  ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['\r=1', `"'\r=1"`],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['plain', 'plain'],
])('writes %j as %j', (text, field) => {
  expect(csvField(text)).toBe(field);
});

it('leaves numbers, times and nothing as they are', () => {
  expect(csvLine([-1, null, undefined, new Date(0), true])).toBe('-1,,,1970-01-01T00:00:00.000Z,true\r\n');
});

it('never writes a field that a spreadsheet runs', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const field = csvField(text);
      const shown = field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field;
      expect(shown).not.toMatch(/^[=+\-@\t\r]/);
      expect([text, `'${text}`]).toContain(shown);
    }),
  );
});
