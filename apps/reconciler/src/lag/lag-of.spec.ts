import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { lagOf } from './lag-of.js';

describe('lagOf', () => {
  it.each([
    ['never committed', undefined, 0n, 7n, undefined, undefined],
    ['never committed, as the protocol says it', -1n, 0n, 7n, undefined, undefined],
    ['behind', 3n, 0n, 7n, 4n, 3n],
    ['caught up', 7n, 0n, 7n, 0n, undefined],
    ['end read before the commit', 9n, 0n, 8n, 0n, undefined],
    ['commit below the log start, nothing left', 5n, 40n, 40n, 0n, undefined],
    ['commit below the log start', 5n, 40n, 45n, 5n, 40n],
    ['empty partition', 0n, 0n, 0n, 0n, undefined],
    ['beyond 2^53', 9_007_199_254_740_993n, 0n, 9_007_199_254_740_995n, 2n, 9_007_199_254_740_993n],
  ])('%s', (_case, committed, start, end, lag, next) => {
    expect(lagOf({ committed, start, end })).toEqual({ lag, next });
  });

  it('is never negative and never more than what is kept', () => {
    const offset = fc.bigInt({ min: 0n, max: 1_000n });
    fc.assert(
      fc.property(offset, offset, offset, (committed, left, right) => {
        const [start, end] = left < right ? [left, right] : [right, left];
        const { lag = -1n } = lagOf({ committed, start, end });
        return lag >= 0n && lag <= end - start;
      }),
    );
  });
});
