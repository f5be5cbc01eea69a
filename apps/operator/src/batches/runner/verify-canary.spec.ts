import { describe, expect, it } from '@jest/globals';
import type { LookedUp, LookedUpOperation } from '#delivery';
import { foundOf } from './verify-canary.js';

const operation = (kind: string, more: Partial<LookedUpOperation>): LookedUpOperation => ({
  operation_key: `e:crm:${kind}`,
  kind,
  result: 'found',
  ...more,
});
const answer = (...operations: LookedUpOperation[]): LookedUp => ({ event_id: 'e', destination: 'crm', operations });
const refs = { contact: 'C-1', lead: 'L-1' };

describe('what was looked up of an item', () => {
  it.each<[string, LookedUp | undefined, string]>([
    ['every record once', answer(operation('contact', { ref: 'C-1' }), operation('lead', { ref: 'L-1' })), 'one'],
    ['the lead under another reference', answer(operation('lead', { ref: 'L-2' })), 'several'],
    ["the person's record under another reference", answer(operation('contact', { ref: 'C-2' }), operation('lead', { ref: 'L-1' })), 'one'],
    ['two records', answer(operation('lead', { result: 'several' })), 'several'],
    ['no lead', answer(operation('contact', { ref: 'C-1' }), operation('lead', { result: 'absent' })), 'none'],
    ['a lookup without an answer', answer(operation('lead', { result: 'unknown', code: 'timeout' })), 'unknown'],
    [
      'one kind that cannot be looked up',
      answer(operation('contact', { result: 'unknown', code: 'no_lookup' }), operation('lead', { ref: 'L-1' })),
      'one',
    ],
    ['nothing that can be looked up', answer(operation('lead', { result: 'unknown', code: 'no_lookup' })), 'no_lookup'],
    ['a delivery that nobody knows', answer(), 'unknown'],
    ['no answer', undefined, 'unknown'],
  ])('with %s', (_name, looked, found) => {
    expect(foundOf({ refs }, looked)).toBe(found);
  });
});
