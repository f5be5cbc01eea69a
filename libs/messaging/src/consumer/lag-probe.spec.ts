import { describe, expect, it } from '@jest/globals';
import { lagOf } from './lag-probe.js';

describe('lagOf', () => {
  it.each([
    ['nothing committed: all that is kept', undefined, 0n, 7n, 7],
    ['a position beyond a stale end', 9n, 0n, 8n, 0],
    ['a position below the start of an empty log', 5n, 40n, 40n, 0],
    ['a position below the start of the log: what is kept', 5n, 40n, 43n, 3],
    ['the middle', 4, 0n, 10n, 6],
  ])('%s', (_name, position, low, high, lag) => {
    expect(lagOf({ position, low, high })).toBe(lag);
  });
});
