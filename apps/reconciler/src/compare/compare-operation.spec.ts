import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { WindowItem } from '#delivery';
import type { FoundRecord } from '#destinations';
import { windowItem, windowOperation } from '../../../../test/support/reconcile/window-item.js';
import { compareOperation, type Seen, type Sides } from './compare-operation.js';
import type { Rules } from './rules.js';

const rules: Rules = { fields: {}, searchLagMs: 30_000, maxExecutionMs: 60_000 };
const record = (more: Partial<FoundRecord> = {}): FoundRecord => ({ kind: 'lead', ref: 'R-1', fields: { message: 'Hello' }, ...more });
const seenBefore = (more: Partial<Seen> = {}): Seen => ({ ref: 'R-1', owned: false, atMs: Date.parse('2026-05-01T12:00:00Z'), ...more });
const sides = (more: Partial<Sides> = {}): Sides => {
  const operation = more.operation ?? windowOperation();
  return {
    item: windowItem({ operations: [operation] }),
    operation,
    expected: { fields: { message: 'Hello' } },
    records: [record()],
    readAtMs: Date.parse('2026-05-01T14:00:00Z'),
    ...more,
  };
};
const namesOf = (more: Partial<Sides>, changed: Partial<Rules> = {}) =>
  compareOperation(sides(more), { ...rules, ...changed }).findings.map(({ class: name, aspect }) => (aspect ? `${name}/${aspect}` : name));
const differing = { message: 'Other' };
const transitions = { new: ['contacted'], contacted: ['won'], won: [] };

describe('comparing an operation with its record', () => {
  it.each<[string, Partial<Sides>, string[], Partial<Rules>?]>([
    ['finds nothing where all is as it was written', {}, []],
    ['finds our lost write', { records: [record({ fields: differing, changedBy: 'us' })] }, ['content_conflict/value']],
    [
      'leaves to a person what a person changed',
      { records: [record({ fields: differing, changedBy: 'other' })] },
      ['content_conflict/human_change'],
    ],
    [
      'goes by the time of the change where nobody says who',
      { records: [record({ fields: differing, changedAt: '2026-05-01T10:00:02Z' })] },
      ['content_conflict/human_change'],
    ],
    [
      'takes a change before our answer for ours',
      { records: [record({ fields: differing, changedAt: '2026-05-01T09:59:59Z' })] },
      ['content_conflict/value'],
    ],
    ['takes their word for what is theirs', { records: [record({ fields: differing })] }, [], { fields: { message: 'theirs' } }],
    [
      'takes a newer value of theirs',
      { records: [record({ fields: differing, changedBy: 'other' })] },
      [],
      { fields: { message: 'newest' } },
    ],
    [
      'finds an older value of theirs',
      { records: [record({ fields: differing, changedBy: 'us' })] },
      ['content_conflict/value'],
      { fields: { message: 'newest' } },
    ],
    ['compares no fields where only presence is known', { presenceOnly: true, records: [record({ fields: {} })] }, []],
    ['finds a second record', { records: [record({ ref: 'R-2' }), record()] }, ['duplicate']],
    [
      'names no record as its own duplicate, nor one twice',
      { records: [record(), record({ ref: 'R-2' }), record(), record({ ref: 'R-2' })] },
      ['duplicate'],
    ],
    ['finds a status that nothing leads to', { records: [record({ status: 'lost' })] }, ['content_conflict/status'], { transitions }],
    ['takes any number of steps', { records: [record({ status: 'won' })] }, [], { transitions }],
    [
      'finds a step back',
      { records: [record({ status: 'new' })], seen: seenBefore({ status: 'won' }) },
      ['content_conflict/status'],
      { transitions },
    ],
    ['finds an older version', { records: [record({ version: '2' })], seen: seenBefore({ version: '10' }) }, ['content_conflict/version']],
    [
      'finds a write of ours that we know nothing of',
      { records: [record({ version: '3', changedBy: 'us' })], seen: seenBefore({ version: '2' }) },
      ['content_conflict/version'],
    ],
    [
      'takes what people write for explained',
      { records: [record({ version: '3', changedBy: 'other' })], seen: seenBefore({ version: '2' }) },
      [],
    ],
    [
      'takes a write after the last look for ours',
      {
        operation: windowOperation({ recorded_at: '2026-05-01T13:00:00Z' }),
        records: [record({ version: '3', changedBy: 'us' })],
        seen: seenBefore({ version: '2' }),
      },
      [],
    ],
    [
      'finds a lead of another person',
      { expected: { fields: {}, links: { contact: 'C-1' } }, records: [record({ links: { contact: 'C-2' } })] },
      ['relationship/wrong_contact'],
    ],
    [
      'finds that the owner was taken away',
      { records: [record({ links: { owner: undefined } })], seen: seenBefore({ owned: true }) },
      ['relationship/assigned_without_owner'],
    ],
    ['says nothing of an owner that was never there', { records: [record({ links: { owner: undefined } })] }, []],
    [
      'finds a delivery without a reference',
      { operation: windowOperation({ ref: undefined }) },
      ['relationship/delivered_without_reference'],
    ],
    ['finds a reference that leads nowhere', { records: [record({ ref: 'R-9' })] }, ['relationship/delivered_without_reference']],
    [
      'finds a success that nothing says',
      { operation: windowOperation({ with_evidence: false }) },
      ['relationship/succeeded_without_attempt'],
    ],
    ['finds what is there though it was given up', { operation: windowOperation({ state: 'dead' }) }, ['late']],
    ['lets a waiting contact be there for another lead', { operation: windowOperation({ state: 'waiting', kind: 'contact' }) }, []],
  ])('%s', (_case, more, wanted, changed = {}) => {
    expect(namesOf(more, changed)).toEqual(wanted);
  });

  it('proposes no repair where nobody can say that no person changed it', () => {
    const [unknown] = compareOperation(sides({ records: [record({ fields: differing })] }), rules).findings;
    expect(unknown).toMatchObject({ aspect: 'value', fields: ['message'] });
    expect(unknown?.repair).toBeUndefined();
    const [ours] = compareOperation(sides({ records: [record({ fields: differing, changedBy: 'us' })] }), rules).findings;
    expect(ours?.repair).toBe('update');
  });

  it('remembers the last right status, and no version that nothing explains', () => {
    const seen = seenBefore({ version: '2', status: 'contacted' });
    const compared = compareOperation(sides({ records: [record({ version: '3', changedBy: 'us', status: 'new' })], seen }), {
      ...rules,
      transitions,
    });
    expect(compared.seen).toMatchObject({ version: '2', status: 'contacted', atMs: seen.atMs });
  });

  it('leaves to the newer lead what that one wrote of the person', () => {
    const operation = windowOperation({ kind: 'contact' });
    const item = windowItem({ operations: [operation], newer_fields: ['phone'], contact_written_at: '2026-05-01T11:00:00Z' });
    const expected = { fields: { phone: '1', name: 'Ada' } };
    const found = record({ fields: { phone: '2', name: 'Bob' }, changedAt: '2026-05-01T10:30:00Z' });
    const [finding, ...others] = compareOperation(sides({ item, operation, expected, records: [found] }), rules).findings;
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ aspect: 'value', fields: ['name'] });
  });

  it.each<[string, Partial<WindowItem>, Partial<FoundRecord>, 'update' | undefined]>([
    ['where this lead wrote the person last', { contact_written_at: '2026-05-01T10:00:00.000Z' }, { changedBy: 'us' }, 'update'],
    [
      'not where a later lead has, behind which a change of a person is hidden',
      { contact_written_at: '2026-05-01T10:05:00.000Z' },
      { changedBy: 'us' },
      undefined,
    ],
    ['not where nobody knows who wrote the person last', {}, { changedBy: 'us' }, undefined],
    [
      'where the record was changed long before our write',
      { contact_written_at: '2026-05-01T10:00:00.000Z' },
      { changedAt: '2026-05-01T09:58:58Z' },
      'update',
    ],
    [
      'not where it was changed about when we wrote',
      { contact_written_at: '2026-05-01T10:00:00.000Z' },
      { changedAt: '2026-05-01T09:59:01Z' },
      undefined,
    ],
    [
      'not where it was changed within the difference of the clocks',
      { contact_written_at: '2026-05-01T10:00:00.000Z' },
      { changedAt: '2026-05-01T10:00:00.900Z' },
      undefined,
    ],
    ['not where the time of the change is none', { contact_written_at: '2026-05-01T10:00:00.000Z' }, { changedAt: 'yesterday' }, undefined],
  ])('proposes to write a person again %s', (_case, of, found, repair) => {
    const operation = windowOperation({ kind: 'contact' });
    const item = windowItem({ operations: [operation], ...of });
    const [finding] = compareOperation(sides({ item, operation, records: [record({ fields: differing, ...found })] }), rules).findings;
    expect(finding).toMatchObject({ aspect: 'value', fields: ['message'] });
    expect(finding?.repair).toBe(repair);
  });

  describe('of a person whose record people merged into another', () => {
    const kind = 'contact';
    const operation = windowOperation({ kind, ref: 'C-1' });
    const merged = record({ kind, ref: 'C-2', mergedRefs: ['C-1'], version: '9', changedBy: 'us', fields: differing });

    it('finds nothing: what the record holds was chosen, and its version is its own', () => {
      const seen = seenBefore({ ref: 'C-1', version: '2' });
      expect(namesOf({ operation, records: [merged], seen })).toEqual([]);
      expect(compareOperation(sides({ operation, records: [merged], seen }), rules).seen).toMatchObject({ ref: 'C-1', version: '9' });
      expect(namesOf({ operation, records: [{ ...merged, mergedRefs: ['C-7', 'C-1'] }] })).toEqual([]);
      expect(namesOf({ operation, records: [{ ...merged, mergedRefs: ['C-7'] }] })).toEqual(['relationship/delivered_without_reference']);
    });

    it('takes no second record for it, and finds one that is', () => {
      expect(namesOf({ operation, records: [merged, merged] })).toEqual([]);
      expect(namesOf({ operation, records: [record({ kind, ref: 'C-3' }), merged] })).toEqual(['duplicate']);
    });

    it('takes the record that theirs was merged into for theirs, and no other', () => {
      const expected = { fields: {}, links: { contact: 'C-1' } };
      const records = [record({ fields: {}, links: { contact: 'C-2' } })];
      expect(namesOf({ expected, records, contactRefs: ['C-2'] })).toEqual([]);
      expect(namesOf({ expected, records, contactRefs: ['C-3'] })).toEqual(['relationship/wrong_contact']);
    });
  });

  it('takes a record of a person that another lead of theirs made again for theirs, and that of a lead for none', () => {
    const item = windowItem({ contact_ref: 'R-9' });
    const records = [record({ ref: 'R-9' })];
    expect(namesOf({ item, operation: windowOperation({ kind: 'contact' }), records })).toEqual([]);
    expect(namesOf({ item, records })).toEqual(['relationship/delivered_without_reference']);
    expect(namesOf({ item, operation: windowOperation({ kind: 'contact', ref: undefined }), records })).toHaveLength(1);
  });

  it('tells no name of a field that somebody outside chose, unless it is a plain one', () => {
    const custom = { budget: 1, 'ada@example.test': 1, '+12025550101': 1, 'Ada Lovelace': 1, '2025550101': 1, 'ada.lovelace': 1 };
    const found = record({ fields: { custom: {} }, changedBy: 'us' });
    const fieldsOf = (ours: object, more: Partial<Rules> = {}) =>
      compareOperation(sides({ expected: { fields: { custom: ours } }, records: [found] }), { ...rules, ...more }).findings.map(
        ({ fields }) => fields,
      );
    expect(fieldsOf(custom)).toEqual([['custom', 'custom.budget']]);
    expect(fieldsOf({ address: { 'ada@example.test': 1 } })).toEqual([['custom.address']]);
    expect(fieldsOf(custom, { fields: { 'custom.ada@example.test': 'theirs', custom: 'theirs', 'custom.budget': 'ours' } })).toEqual([
      ['custom.budget'],
    ]);
  });

  it('does not take for the time of a write when a lookup found the record', () => {
    const operation = windowOperation({ seen_there: true });
    const found = record({ fields: differing, changedAt: '2026-05-01T08:00:00Z' });
    const [finding] = compareOperation(sides({ operation, records: [found] }), rules).findings;
    expect(finding?.aspect).toBe('value');
    expect(finding?.repair).toBeUndefined();
  });

  it('goes by who changed each field where that is known, and writes nothing again beside what a person changed', () => {
    const expected = { fields: { name: 'Ada', phone: '1', email: 'a' } };
    const found = record({
      fields: { name: 'Bob', phone: '2' },
      changedBy: 'us',
      fieldsChangedBy: { name: 'us', phone: 'other', email: 'unknown' },
    });
    const { findings } = compareOperation(sides({ expected, records: [found] }), rules);
    expect(findings.map(({ aspect, fields, repair, evidence }) => [aspect, fields, repair, evidence.changed_by])).toEqual([
      ['human_change', ['phone'], undefined, 'other'],
      ['value', ['email', 'name'], undefined, 'us'],
    ]);
    const leave = { expected: { fields: { name: 'Ada', phone: '1' } }, records: [found] };
    const [value] = compareOperation(sides(leave), { ...rules, fields: { phone: 'newest' } }).findings;
    expect(value).toMatchObject({ aspect: 'value', fields: ['name'] });
    expect(value?.repair).toBeUndefined();
    const [beside] = compareOperation(sides({ ...leave, records: [record({ ...found, fieldsChangedBy: {} })] }), {
      ...rules,
      fields: { phone: 'theirs' },
    }).findings;
    expect(beside).toMatchObject({ aspect: 'value', fields: ['name'] });
    expect(beside?.repair).toBeUndefined();
  });

  it.each<[string, Partial<Sides>]>([
    ['its search may show what was there before our write', { readAtMs: Date.parse('2026-05-01T10:01:29.999Z') }],
    ['a lead of the person may be writing', { item: windowItem({ contact_held: true }), operation: windowOperation({ kind: 'contact' }) }],
  ])('says nothing of content, version and links while %s, and remembers nothing', (_case, more) => {
    const found = record({ version: '1', status: 'lost', fields: differing, links: { contact: 'C-2', owner: undefined } });
    const early = {
      ...more,
      expected: { fields: { message: 'Hello' }, links: { contact: 'C-1', owner: 'O-1' } },
      records: [found],
      seen: seenBefore({ version: '2' }),
    };
    expect(compareOperation(sides(early), { ...rules, transitions })).toEqual({ findings: [], absent: false, early: true });
    const later = { ...early, item: windowItem(), readAtMs: Date.parse('2026-05-01T10:01:30Z') };
    expect(compareOperation(sides(later), { ...rules, transitions })).toMatchObject({ early: false, seen: { ref: 'R-1' } });
    expect(namesOf(later, { transitions })).toHaveLength(4);
  });

  it('never proposes to write over what somebody else wrote, and never tells a value', () => {
    const name = fc.constantFrom('name', 'email', 'phone', 'message');
    const value = fc.constantFrom(undefined, null, '', 'secret-a', 'secret-b', 7);
    const fields = fc.dictionary(name, value);
    const truth = fc.dictionary(name, fc.constantFrom('ours' as const, 'theirs' as const, 'newest' as const));
    const changedBy = fc.constantFrom('us' as const, 'other' as const, undefined);
    const changedAt = fc.constantFrom(undefined, '2026-05-01T09:00:00Z', '2026-05-01T11:00:00Z');
    fc.assert(
      fc.property(fields, fields, truth, changedBy, changedAt, (ours, theirs, fieldsOf, by, at) => {
        const found = record({ fields: theirs, changedBy: by, changedAt: at });
        const { findings } = compareOperation(sides({ expected: { fields: ours }, records: [found] }), { ...rules, fields: fieldsOf });
        const byOther = by === 'other' || (by === undefined && at === '2026-05-01T11:00:00Z');
        const isEmpty = (one: unknown) => one === undefined || one === null || one === '';
        const wanted = Object.keys(ours).filter((one) => {
          const same = isEmpty(ours[one]) ? isEmpty(theirs[one]) : ours[one] === theirs[one];
          const right = fieldsOf[one] ?? 'ours';
          return !same && right !== 'theirs' && !(byOther && right === 'newest');
        });
        expect(findings.flatMap((one) => one.fields ?? [])).toEqual(wanted.sort());
        for (const one of findings) {
          expect(one.aspect).toBe(byOther ? 'human_change' : 'value');
          if (byOther || (by === undefined && at === undefined)) expect(one.repair).toBeUndefined();
          expect(JSON.stringify(one)).not.toContain('secret');
        }
      }),
    );
  });
});
