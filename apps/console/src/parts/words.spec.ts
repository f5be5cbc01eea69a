import { describe, expect, it } from '@jest/globals';
import { duration, plain, sentence, shortId } from './words.js';

describe('words', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_000, '1 s'],
    [1_899, '1.8 s'],
    [10_900, '10 s'],
    [61_000, '1 min 1 s'],
    [3_600_000, '1 h'],
    [90_061_000, '1 d 1 h'],
    [-61_000, '-1 min 1 s'],
    [null, '–'],
    [Number.NaN, '–'],
  ])('write %p ms as %s', (ms, text) => expect(duration(ms)).toBe(text));

  it('write names of the product for people', () => {
    expect([plain('in_flight'), sentence('attempts_exhausted')]).toEqual(['in flight', 'Attempts exhausted']);
    expect(shortId('0192c1f2-0000-7000-8000-00000000abcd')).toBe('0192c1f2…abcd');
    expect(shortId('sandbox-crm')).toBe('sandbox-crm');
  });
});
