import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { laneShare } from './lane-share.js';

const members = fc.uniqueArray(fc.nat(), { minLength: 1, maxLength: 12 }).map((keys) => keys.sort((a, b) => a - b));

describe('the share of a relay', () => {
  it('gives every lane to exactly one relay, and shares that differ by one lane at most', () => {
    fc.assert(
      fc.property(members, (keys) => {
        const shares = keys.map((me) => laneShare(me, keys, 8));
        expect(shares.flat().sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
        const sizes = shares.map((share) => share.length);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('is nothing for a relay that the others do not see', () => {
    expect(laneShare(5, [1, 2], 8)).toEqual([]);
  });
});
