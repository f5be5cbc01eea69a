import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { windowItem, windowOperation } from '../../../../test/support/reconcile/window-item.js';
import { judgeAbsence } from './judge-absence.js';

const rules = { fields: {}, searchLagMs: 10_000, maxExecutionMs: 5_000 };
const writtenMs = Date.parse('2026-05-01T10:00:00.000Z');
const item = windowItem();
const seen = { ref: 'R-1', owned: false, atMs: writtenMs };

describe('what absence means', () => {
  it('is never missing while the search may lag, nor after one look, nor after two that are not a lag apart', () => {
    const time = fc.integer({ min: 0, max: 60_000 });
    fc.assert(
      fc.property(time, fc.option(time, { nil: undefined }), fc.boolean(), (after, missedAfter, isSeen) => {
        const missedSinceMs = missedAfter === undefined ? undefined : writtenMs + missedAfter;
        const sides = { item, operation: windowOperation(), missedSinceMs, ...(isSeen && { seen }) };
        const verdict = judgeAbsence(sides, rules, writtenMs + after);
        const name = verdict.kind === 'finding' ? verdict.finding.class : verdict.kind;
        const isHidden = after < 15_000;
        const isTwice = missedAfter !== undefined && after - missedAfter >= 10_000;
        expect(name).toBe(isSeen ? 'deleted' : isHidden ? 'hidden' : isTwice ? 'missing' : 'unconfirmed');
      }),
    );
  });

  it('is deletion only of the record that was seen', () => {
    const made = { item, operation: windowOperation({ ref: 'R-2' }), seen };
    expect(judgeAbsence(made, rules, writtenMs + 60_000)).toEqual({ kind: 'unconfirmed' });
    const found = { item, operation: windowOperation({ seen_there: true }) };
    expect(judgeAbsence(found, rules, writtenMs)).toMatchObject({ finding: { class: 'deleted', repair: 'create' } });
  });
});
