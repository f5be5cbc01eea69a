import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ReplayItemState } from '#delivery';
import { judgeItem } from './judge-item.js';

const states = [
  'delivered',
  'dead',
  'expired',
  'uncertain',
  'waiting',
  'in_flight',
  'pending',
  'held',
  'discarded',
  'erased',
  undefined,
] as const;
const item = (more: Partial<ReplayItemState>): ReplayItemState => ({
  item_id: 'i',
  applied: false,
  closed: false,
  raised: false,
  refs: {},
  ...more,
});
const going = { stopped: false, overdue: false };

describe('an approved item', () => {
  it.each<[Partial<ReplayItemState>, string]>([
    [{ applied: true, state: 'delivered' }, 'succeeded'],
    [{ applied: true, state: 'dead' }, 'failed'],
    [{ applied: true, state: 'expired' }, 'failed'],
    [{ applied: true, state: 'waiting' }, 'open'],
    [{ applied: true, state: 'uncertain' }, 'open'],
    [{ applied: true, state: 'uncertain', raised: true }, 'uncertain'],
    [{ applied: true, state: 'erased' }, 'ended'],
    [{ state: 'delivered' }, 'ended'],
    [{ state: 'discarded' }, 'ended'],
    [{ state: 'dead' }, 'open'],
    [{ state: 'dead', closed: true }, 'not_applied'],
    [{}, 'open'],
  ])('that is %j comes to %s', (more, expected) => {
    expect(judgeItem(item(more), going)).toBe(expected);
  });

  it('that was not applied is closed at its owner before anybody says that it never will be', () => {
    expect(judgeItem(item({ state: 'dead' }), { stopped: true, overdue: false })).toBe('close');
    expect(judgeItem(item({ state: 'dead', closed: true }), { stopped: true, overdue: false })).toBe('stopped');
    expect(judgeItem(item({ state: 'dead' }), { stopped: false, overdue: true })).toBe('close');
    expect(judgeItem(item({}), { stopped: false, overdue: true })).toBe('close');
  });

  it('never ends while its delivery is under way, nor as undone when it was applied', () => {
    const any = fc.record({ state: fc.constantFrom(...states), applied: fc.boolean(), closed: fc.boolean(), raised: fc.boolean() });
    const batch = fc.record({ stopped: fc.boolean(), overdue: fc.boolean() });
    fc.assert(
      fc.property(any, batch, (facts, how) => {
        const verdict = judgeItem(item(facts), how);
        if (facts.applied) expect(['stopped', 'not_applied', 'close']).not.toContain(verdict);
        if (facts.applied && ['waiting', 'in_flight', 'pending', 'held'].includes(String(facts.state))) expect(verdict).toBe('open');
        if (!facts.applied && !facts.closed) expect(['stopped', 'not_applied', 'succeeded', 'failed']).not.toContain(verdict);
      }),
    );
  });
});
