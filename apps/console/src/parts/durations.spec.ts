import { describe, expect, it } from '@jest/globals';
import { durationText } from './durations.js';

describe('a duration for the API', () => {
  it.each([
    [14_400_000, '4h'],
    [90_000, '90s'],
    [5_400_000, '90m'],
    [172_800_000, '2d'],
    [1_500, '1500ms'],
    [0, '0ms'],
  ])('%d ms is %s', (ms, text) => expect(durationText(ms)).toBe(text));
});
