import { describe, expect, it } from '@jest/globals';
import { onTopic, whyBlocked } from './blocked-words.js';

describe('a destination that nothing is sent to', () => {
  it('is held by somebody, or in trouble of its own', () => {
    expect(whyBlocked({ reason: 'hold', hold: { by: 'ada', reason: 'their change', at: 'then' } })).toBe('is held by ada: their change');
    expect(whyBlocked({ reason: 'failing' })).toBe('is not sent to: failing');
  });

  it.each([
    [{ count: 12 }, '12 leads wait'],
    [{ count: 1 }, '1 lead waits'],
    [{ count: 1_200, at_most: true }, 'At most 1,200 leads'],
    [{ count: 0 }, 'No leads'],
    [{ unknown: 'kafka_away' as const }, 'cannot be told now (kafka away)'],
  ])('with %j on its topic says what no group shows', (unclaimed, words) => expect(onTopic({ unclaimed })).toContain(words));

  it('says nothing of a channel, whose messages nobody counts', () => expect(onTopic({})).toBeUndefined());
});
