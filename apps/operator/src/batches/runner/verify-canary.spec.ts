import { describe, expect, it } from '@jest/globals';
import type { LookedUp, LookedUpOperation } from '#delivery';
import type { BatchTools } from '../tools.js';
import { type CanaryItem, foundOf, lookUpItems } from './verify-canary.js';

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

describe('a succeeded item that was to change a record', () => {
  it.each<[string, object, string]>([
    ['has another version than it was compared as', { result: 'found', version: '8', changed_by: 'us' }, 'one'],
    ['has been changed by somebody else since', { result: 'found', version: '9', changed_by: 'other' }, 'one'],
    ['is as it was compared', { result: 'found', version: '7', changed_by: 'us' }, 'none'],
    ['cannot be read', { result: 'unknown' }, 'unknown'],
  ])('whose record %s', async (_, state, found) => {
    const crm = {
      lookUp: async () => [answer(operation('contact', { ref: 'C-1' }))],
      read: async () => [state],
    };
    const tools = { replays: new Map([['crm-writer', crm]]), db: { sql: async () => [] } } as unknown as BatchTools;
    const compared = { version: '7' };
    const step = { discrepancy_id: 'd', operation_key: 'e:crm:contact', kind: 'contact', repair: 'update' as const, ref: 'C-1', compared };
    const item = { item_id: 'i', event_id: 'e', destination: 'crm', service: 'crm-writer', refs, repair: { generation: 1, steps: [step] } };
    expect(await lookUpItems(tools, 'b', [item as unknown as CanaryItem])).toEqual([{ found }]);
  });
});
