import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { retryAfterMs } from './retry-after.js';

/** RFC 9110 section 5.6.7 gives this moment in its three forms; a recipient must read them all. */
const moment = Date.parse('1994-11-06T08:49:37Z');
const forms = ['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'];

describe('Retry-After', () => {
  it.each(forms)('is a date, as in %s', (text) => {
    expect(retryAfterMs(text, moment - 90_000)).toBe(90_000);
    expect(retryAfterMs(text, moment)).toBeUndefined();
    expect(retryAfterMs(text, moment + 1_000)).toBeUndefined();
  });

  it.each([
    // RFC 9110 section 10.2.3: "Retry-After: 120".
    ['120', 120_000],
    [' 7 ', 7_000],
    ['0', undefined],
    ['', undefined],
    [undefined, undefined],
    ['soon', undefined],
    ['-3', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['2026-03-01', undefined],
    ['Sun, 99 Foo 1994 08:49:37 GMT', undefined],
    ['99999999999999999999', undefined],
  ])('%s is %s', (value, expected) => {
    expect(retryAfterMs(value, 0)).toBe(expected);
  });

  it('is a finite time ahead or nothing, whatever stands there', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.constantFrom(...forms), fc.nat().map(String)), fc.nat(), (value, now) => {
        const ms = retryAfterMs(value, now);
        expect(ms === undefined || (Number.isFinite(ms) && ms > 0)).toBe(true);
      }),
    );
  });
});
