import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { windowItem, windowOperation } from '../../../../test/support/reconcile/window-item.js';
import { judgeAbsence } from './judge-absence.js';

const rules = { fields: {}, searchLagMs: 10_000, maxExecutionMs: 5_000 };
const writtenMs = Date.parse('2026-05-01T10:00:00.000Z');
const item = windowItem();
const seen = { ref: 'R-1', owned: false, atMs: writtenMs };

describe('what absence means', () => {
  it('is never missing while the search may lag, nor after one look, nor after two that are not a lag apart or from before it was written', () => {
    const time = fc.integer({ min: 0, max: 60_000 });
    const missed = fc.option(fc.integer({ min: -60_000, max: 60_000 }), { nil: undefined });
    fc.assert(
      fc.property(time, missed, fc.boolean(), (after, missedAfter, isSeen) => {
        const missedSinceMs = missedAfter === undefined ? undefined : writtenMs + missedAfter;
        const sides = { item, operation: windowOperation(), missedSinceMs, ...(isSeen && { seen }) };
        const verdict = judgeAbsence(sides, rules, writtenMs + after);
        const name = verdict.kind === 'finding' ? verdict.finding.class : verdict.kind;
        const isHidden = after < 15_000;
        const isTwice = missedAfter !== undefined && missedAfter >= 0 && after - missedAfter >= 10_000;
        expect(name).toBe(isSeen ? 'deleted' : isHidden ? 'hidden' : isTwice ? 'missing' : 'unconfirmed');
      }),
    );
  });

  it('is deletion only of the record that was seen', () => {
    const made = { item, operation: windowOperation({ ref: 'R-2' }), seen };
    expect(judgeAbsence(made, rules, writtenMs + 60_000)).toEqual({ kind: 'unconfirmed' });
  });

  it('is deletion of what only an answer said to be there once a search can show it', () => {
    const told = { item, operation: windowOperation({ seen_there: true }) };
    expect(judgeAbsence(told, rules, writtenMs + 14_999)).toEqual({ kind: 'hidden' });
    expect(judgeAbsence(told, rules, writtenMs + 15_000)).toMatchObject({ finding: { class: 'deleted', repair: 'create' } });
    expect(judgeAbsence({ ...told, seen }, rules, writtenMs)).toMatchObject({ finding: { class: 'deleted', repair: 'create' } });
  });
});
