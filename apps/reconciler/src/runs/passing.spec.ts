import { describe, expect, it } from '@jest/globals';
import { DatabaseUnavailable, InternalUnavailable, StatementFailed } from '#runtime';
import { isPassing, leavesNothing } from './passing.js';

describe('a page that failed', () => {
  it.each([
    ['a service that does not answer', new InternalUnavailable('timeout'), true, true],
    ['a deadlock', new StatementFailed({ code: '40P01' }), true, true],
    ['a database that is gone', new DatabaseUnavailable('57P01'), true, false],
    ['a statement that is wrong', new StatementFailed({ code: '42P01' }), false, false],
    ['anything else', new Error('?'), false, false],
  ])('by %s', (_what, error, again, certain) => {
    expect([isPassing(error), leavesNothing(error)]).toEqual([again, certain]);
  });
});
