import { describe, expect, it } from '@jest/globals';
import type { FoundRecord } from '#destinations';
import { windowItem, windowOperation } from '../../../../test/support/reconcile/window-item.js';
import { compareOperation, type Sides } from '../compare/compare-operation.js';
import { judgedBy } from './judged.js';

const rules = { fields: {}, searchLagMs: 0, maxExecutionMs: 0 };
const record = (more: Partial<FoundRecord> = {}): FoundRecord => ({
  kind: 'lead',
  ref: 'R-1',
  version: '3',
  fields: { text: 'hello' },
  ...more,
});
const expected = { fields: { text: 'hello' } };
const judged = (more: Partial<Sides> = {}, isGone = false) => {
  const item = windowItem();
  const readAtMs = Date.parse('2026-05-01T12:00:00Z');
  const sides: Sides = { item, operation: windowOperation(), expected, records: [record()], readAtMs, ...more };
  return judgedBy(sides, compareOperation(sides, rules), isGone);
};
const content = ['content_conflict/value', 'content_conflict/human_change'];
const presence = ['missing', 'deleted'];

describe('what a comparison decides', () => {
  it('is the presence and the content of a record that was read', () => {
    expect(judged()).toEqual(expect.arrayContaining([...presence, ...content, 'duplicate', 'content_conflict/version', 'late']));
  });

  it.each<[string, Partial<Sides>]>([
    ['the lead could not be read', { expected: undefined }],
    ['the destination only says that it is there', { presenceOnly: true }],
    ['it was read too early', { readAtMs: Date.parse('2026-05-01T09:59:00Z') }],
  ])('is nothing about the content where %s', (_why, more) => {
    const names = judged(more);
    expect(names).toEqual(expect.arrayContaining(presence));
    for (const name of content) expect(names).not.toContain(name);
  });

  it('is nothing about a record that hides, and everything once it is known to be gone', () => {
    const hidden = judged({ records: [] });
    for (const name of [...presence, ...content, 'duplicate']) expect(hidden).not.toContain(name);
    expect(judged({ records: [] }, true)).toEqual(expect.arrayContaining([...presence, ...content, 'duplicate']));
  });

  it.each(['dead', 'expired', 'waiting', 'held'] as const)('is not that a lead is missing no more while its repair is %s', (state) => {
    const operation = windowOperation({ state });
    expect(judged({ operation, records: [] })).toEqual(['late']);
    expect(judged({ operation })).toEqual(['late', ...presence]);
  });

  it('is that nothing is missing where a person has discarded it', () => {
    expect(judged({ operation: windowOperation({ state: 'discarded' }), records: [] })).toEqual(['late', ...presence]);
  });

  it('is a status, an owner or a person only where the destination tells of one', () => {
    const names = ['content_conflict/status', 'relationship/assigned_without_owner', 'relationship/wrong_contact'];
    for (const name of names) expect(judged()).not.toContain(name);
    const links = { contact: 'C-1', owner: '' };
    const told = { expected: { ...expected, links: { contact: 'C-1' } }, records: [record({ status: 'new', links })] };
    expect(judged(told)).toEqual(expect.arrayContaining(names));
  });

  it('is no version where something else differs', () => {
    expect(judged({ records: [record({ fields: { text: 'other' } })] })).not.toContain('content_conflict/version');
  });
});
