import { describe, expect, it } from '@jest/globals';
import { endedBadly, outcomeOf } from './batch-words.js';

describe('a batch in words', () => {
  it('has finished well only where every item had its effect', () => {
    expect(outcomeOf({ state: 'finished', counts: { succeeded: 7, failed: 0, uncertain: 0, not_applied: 0 } })).toEqual({
      words: 'finished',
      tone: 'ok',
    });
  });
  it.each([
    ['failed', 'finished, 3 failed'],
    ['uncertain', 'finished, 3 uncertain'],
    ['not_applied', 'finished, 3 not applied'],
  ])('that finished with items that are %s says so, in the tone of a failure', (name, words) => {
    expect(outcomeOf({ state: 'finished', counts: { succeeded: 4, [name]: 3 } })).toEqual({ words, tone: 'dead' });
  });
  it('is under way in its own words, whatever has failed so far', () => {
    expect(outcomeOf({ state: 'running', counts: { failed: 3 } })).toEqual({ words: 'running', tone: 'wait' });
    expect(endedBadly({ state: 'running', counts: { failed: 3 } })).toBe(false);
  });
});
