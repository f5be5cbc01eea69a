import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { covers, type EndedItem, judgeCanary, type StopFacts, stopReason, type VerifiedItem } from './stop-rules.js';

const well: EndedItem = { outcome: 'succeeded', letterClass: 'auth' };
const again: EndedItem = { outcome: 'failed', class: 'auth', letterClass: 'auth' };
const otherwise: EndedItem = { outcome: 'failed', class: 'permanent', letterClass: 'auth' };
const of = (count: number, item: EndedItem): EndedItem[] => Array.from({ length: count }, () => item);
const facts = (lastEnded: EndedItem[], more: Partial<StopFacts> = {}): StopFacts => ({
  lastEnded,
  throttled: [],
  letters: { perMinute: 0, before: 0 },
  timeoutMs: 2_000,
  ...more,
});

describe('a running batch', () => {
  it.each<[string, StopFacts, string | undefined]>([
    ['nothing ended yet', facts([]), undefined],
    ['all went well', facts(of(50, well)), undefined],
    ['two of the same class', facts(of(2, again)), undefined],
    ['three of the same class', facts(of(3, again)), 'same_error'],
    ['three of the same class among many', facts([...of(47, well), ...of(3, again)]), undefined],
    ['a fifth of the same class', facts([...of(40, well), ...of(10, again)]), 'same_error'],
    ['failures of another class', facts(of(20, otherwise)), undefined],
    ['a duplicate', facts([...of(49, well), { ...otherwise, code: 'several_matches' }]), 'duplicate'],
    ['429', facts(of(10, well), { throttled: ['crm'] }), 'throttled'],
    ['some more dead letters', facts([], { letters: { perMinute: 19, before: 0 } }), undefined],
    ['many more dead letters', facts([], { letters: { perMinute: 20, before: 6 } }), 'dead_letters_grow'],
    ['as many dead letters as ever', facts([], { letters: { perMinute: 30, before: 10 } }), undefined],
    ['slow answers', facts(of(20, { ...well, durationMs: 1_100 })), 'slow'],
    ['a few slow answers', facts(of(19, { ...well, durationMs: 1_900 })), undefined],
    ['quick answers', facts(of(50, { ...well, durationMs: 900 })), undefined],
  ])('with %s', (_name, given, code) => {
    expect(stopReason(given)?.code).toBe(code);
  });

  it('that stopped for one share of the same error stops for every larger one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 0, max: 50 }), (size, bad) => {
        const count = Math.min(size, bad);
        const stops = (failing: number): boolean => stopReason(facts([...of(size - failing, well), ...of(failing, again)])) !== undefined;
        if (stops(count) && count < size) expect(stops(count + 1)).toBe(true);
      }),
    );
  });
});

describe('a canary', () => {
  const one: VerifiedItem = { found: 'one' };
  const judge = (ended: EndedItem[], verified: VerifiedItem[], more: { rest?: number; mayLookAgain?: boolean } = {}) =>
    judgeCanary({ ended, verified, rest: 90, mayLookAgain: false, ...more });
  const ones = (count: number): VerifiedItem[] => Array.from({ length: count }, () => one);

  it('passes when each is found exactly once', () => {
    expect(judge(of(10, well), ones(10))).toEqual({ kind: 'passed' });
  });

  it('is looked at again while the search may lag, then a person has to look', () => {
    expect(judge(of(10, well), [...ones(9), { found: 'none' }], { mayLookAgain: true })).toEqual({ kind: 'again' });
    expect(judge(of(10, well), [...ones(9), { found: 'none' }])).toMatchObject({ kind: 'pause', code: 'canary_unverified' });
    expect(judge(of(10, well), [...ones(9), { found: 'unknown' }])).toMatchObject({ kind: 'pause', code: 'canary_unverified' });
    expect(judge(of(10, well), [...ones(9), { found: 'no_lookup' }])).toMatchObject({
      kind: 'pause',
      code: 'canary_no_lookup',
      counts: { unverified: 0, no_lookup: 1 },
    });
  });

  it('stops the batch for a duplicate, also when nothing is left', () => {
    expect(judge(of(10, well), [...ones(9), { found: 'several' }], { mayLookAgain: true })).toMatchObject({ code: 'duplicate' });
    expect(judge([well], [{ found: 'several' }], { rest: 0 })).toMatchObject({ kind: 'stop', code: 'duplicate' });
  });

  it('stops the batch for the same class again, or when half of it failed', () => {
    expect(judge([...of(8, well), ...of(2, again)], ones(8))).toMatchObject({ kind: 'stop', code: 'same_error' });
    expect(judge([...of(9, well), ...of(1, again)], ones(9))).toEqual({ kind: 'passed' });
    expect(judge([...of(5, well), ...of(5, otherwise)], ones(5))).toMatchObject({ kind: 'stop', code: 'canary_failed' });
    expect(judge(of(10, otherwise), [])).toMatchObject({ kind: 'stop', code: 'canary_failed' });
  });

  it('that is the whole batch stops nothing by its failures', () => {
    expect(judge(of(1, again), [], { rest: 0 })).toEqual({ kind: 'passed' });
    expect(judge(of(3, well), [{ found: 'no_lookup' }], { rest: 0 })).toEqual({ kind: 'passed' });
  });

  it('never lets the rest follow with one succeeded item that was not found once', () => {
    const found = fc.constantFrom<VerifiedItem['found']>('one', 'several', 'none', 'unknown', 'no_lookup');
    fc.assert(
      fc.property(fc.array(found, { minLength: 1, maxLength: 50 }), fc.boolean(), (all, mayLookAgain) => {
        const verdict = judge(
          of(all.length, well),
          all.map((one) => ({ found: one })),
          { mayLookAgain },
        );
        expect(verdict.kind === 'passed').toBe(all.every((one) => one === 'one'));
      }),
    );
  });
});

describe('the word of somebody who vouched for a canary', () => {
  const seen = { unverified: 2, no_lookup: 3 };
  it('covers as much as was seen and less, of no kind more, and nothing where nothing was seen', () => {
    expect(covers(seen, seen)).toBe(true);
    expect(covers(seen, { unverified: 0, no_lookup: 3 })).toBe(true);
    expect(covers(seen, { unverified: 3, no_lookup: 0 })).toBe(false);
    expect(covers(seen, { unverified: 2, no_lookup: 4 })).toBe(false);
    expect(covers(null, { unverified: 1, no_lookup: 0 })).toBe(false);
  });
});
