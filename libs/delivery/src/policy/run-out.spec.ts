import { describe, expect, it } from '@jest/globals';
import { type Limit, runOut } from './run-out.js';

/** Written by hand: what is left to a lookup or a person before it is given up, and as what it is given up. */
const table: [limit: Limit, doubtful: boolean, canLookUp: boolean, state: string, failure: string | undefined][] = [
  ['attempts', false, false, 'dead', 'attempts_exhausted'],
  ['attempts', false, true, 'dead', 'attempts_exhausted'],
  ['attempts', true, false, 'dead', 'attempts_exhausted'],
  ['attempts', true, true, 'uncertain', undefined],
  ['deadline', false, false, 'expired', 'deadline_exceeded'],
  ['deadline', false, true, 'expired', 'deadline_exceeded'],
  ['deadline', true, false, 'uncertain', undefined],
  ['deadline', true, true, 'uncertain', undefined],
];

describe('an operation that may not be called any more', () => {
  it.each(table)('%s, in doubt %s, looked up %s: %s %s', (limit, doubtful, canLookUp, state, failure) => {
    const after = runOut(limit, { doubtful, canLookUp });
    expect(after.state).toBe(state);
    expect('class' in after ? after.class : undefined).toBe(failure);
  });
});
