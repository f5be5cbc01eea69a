import { describe, expect, it } from '@jest/globals';
import type { Finding } from '../compare/finding.js';
import { type Difference, isAccepted, joined } from './accepted.js';

const accepted: Difference = {
  kind: 'contact',
  fields: ['name', 'phone'],
  evidence: { version: '5', changed_at: '2026-05-01T10:00:00Z', generation: 1, seen_version: '4' },
};
const found = (more: Partial<Difference> = {}, evidence: Finding['evidence'] = {}): Difference => ({
  ...accepted,
  ...more,
  evidence: { ...accepted.evidence, ...evidence },
});

describe('what somebody accepted', () => {
  it.each<[string, Difference, boolean]>([
    ['the same again', found(), true],
    ['a part of it', found({ fields: ['phone'] }), true],
    ['another look at it', found({}, { seen_version: '3', missed_since: 'yesterday' }), true],
    ['another lead of the person', found({}, { generation: 2 }), true],
    ['another generation of a lead', found({ kind: 'lead' }, { generation: 2 }), false],
    ['one field more', found({ fields: ['email', 'phone'] }), false],
    ['a record that was written since', found({}, { version: '6' }), false],
    ['a record that was changed since', found({}, { changed_at: '2026-05-01T11:00:00Z' }), false],
    ['another status', found({}, { status: 'archived' }), false],
    ['a link to another person', found({}, { contact: 'C-2' }), false],
  ])('%s', (_case, difference, wanted) => {
    expect(isAccepted(accepted, difference)).toBe(wanted);
  });

  it('is of all leads of a person: their findings are one, with a repair where one of them may have it', () => {
    const one: Finding = { class: 'content_conflict', fields: ['phone'], evidence: {}, eventId: 'a', repair: 'update', atMs: 1 };
    const other: Finding = { class: 'content_conflict', fields: ['name'], evidence: {}, eventId: 'b', atMs: 2 };
    expect(joined(undefined, other)).toBe(other);
    expect(joined(one, other)).toEqual({ ...one, fields: ['name', 'phone'] });
    expect(joined(other, { ...one, repair: undefined })).toMatchObject({ eventId: 'a', fields: ['name', 'phone'] });
  });
});
