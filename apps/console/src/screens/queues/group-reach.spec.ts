import { describe, expect, it } from '@jest/globals';
import { batchFilterOf, whyNoReplay, whyPartial } from './group-reach.js';

const group = { key: 'a', class: 'rejected', destination: 'crm', code: 'http_422', schema_id: null };
const alone = { groups: [group], leftOut: 0 };

describe('a group that is shown in part', () => {
  it.each(['organization', 'owner', 'assignee', 'disposition'])('cannot be decided on while %s is filtered', (name) => {
    expect(whyPartial({ [name]: 'x' })).toContain(`Clear the filter ${name}`);
  });
  it('can be decided on when the filter is of what makes the group', () => {
    expect(
      whyPartial({ class: 'rejected', destination: 'crm', code: 'http_422', schema_id: '4', organization: undefined }),
    ).toBeUndefined();
  });
});

describe('a batch of a group', () => {
  it('is of this group alone', () => {
    expect(whyNoReplay(group, {}, alone)).toBeUndefined();
    expect(batchFilterOf(group, {})).toEqual({ class: 'rejected', destination: 'crm', code: 'http_422' });
  });
  it('takes the organization along, which a batch can say', () => {
    expect(whyNoReplay(group, { organization: 'demo' }, alone)).toBeUndefined();
    expect(batchFilterOf(group, { organization: 'demo' })).toMatchObject({ organization: 'demo' });
  });
  it.each(['owner', 'assignee', 'disposition'])('cannot say %s', (name) => {
    expect(whyNoReplay(group, { [name]: 'x' }, alone)).toContain(name);
  });
  it('is not drafted where nothing as code would mean every code', () => {
    const bare = { ...group, key: 'b', code: null };
    expect(whyNoReplay(bare, {}, { groups: [group, bare], leftOut: 0 })).toContain('no code');
    expect(whyNoReplay(bare, {}, { groups: [bare], leftOut: 2 })).toContain('no code');
    expect(whyNoReplay(bare, {}, { groups: [bare], leftOut: 0 })).toBeUndefined();
  });
  it('is not drafted where another schema has the same cause, or may have', () => {
    const other = { ...group, key: 'c', schema_id: 5 };
    expect(whyNoReplay(other, {}, { groups: [group, other], leftOut: 0 })).toContain('schema');
    expect(whyNoReplay(other, { schema_id: '5' }, { groups: [other], leftOut: 0 })).toContain('schema');
    expect(whyNoReplay(other, {}, { groups: [other], leftOut: 0 })).toBeUndefined();
  });
  it('needs a destination', () => {
    expect(whyNoReplay({ ...group, destination: null }, {}, alone)).toContain('no destination');
  });
});
