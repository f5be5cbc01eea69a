import { describe, expect, it } from '@jest/globals';
import { batchFilterOf, isLive, whyNoReplay, whyPartial, whyWait } from './group-reach.js';

const group = { class: 'rejected', destination: 'crm', code: 'http_422', schema_id: 4 };

describe('a group that is shown in part', () => {
  it.each(['organization', 'owner', 'assignee', 'disposition'])('cannot be decided on while %s is filtered', (name) => {
    expect(whyPartial({ [name]: 'x' })).toContain(`Clear the filter ${name}`);
  });
  it('can be decided on when the filter is of what makes the group', () => {
    const filter = { class: 'rejected', destination: 'crm', code: 'http_422', schema_id: '4', no_code: 'true', no_schema_id: 'true' };
    expect(whyPartial({ ...filter, organization: undefined })).toBeUndefined();
  });
});

describe('a group of what is still open', () => {
  it.each([
    ['held crm hold ', true],
    ['uncertain crm unverified_write timeout', true],
    ['0197a2f0-0000-5000-8000-00000000000a', false],
  ])('%s: %s', (key, live) => expect(isLive({ key })).toBe(live));

  it('says what it waits for', () => {
    expect(whyWait('held')).toContain('released');
    expect(whyWait('uncertain')).toContain('looked up');
  });
});

describe('a batch of a group', () => {
  it('is of this group alone, by all that makes the group', () => {
    expect(whyNoReplay(group, {})).toBeUndefined();
    expect(batchFilterOf(group, {})).toEqual({ class: 'rejected', destination: 'crm', code: 'http_422', schema_id: 4 });
  });
  it('says that there is no code, and no schema, where there is none', () => {
    const bare = { ...group, code: null, schema_id: null };
    expect(whyNoReplay(bare, {})).toBeUndefined();
    expect(batchFilterOf(bare, {})).toEqual({ class: 'rejected', destination: 'crm', no_code: true, no_schema_id: true });
    expect(batchFilterOf({ ...group, code: null }, {})).toEqual({ class: 'rejected', destination: 'crm', no_code: true, schema_id: 4 });
    expect(batchFilterOf({ ...group, schema_id: 0 }, {})).toMatchObject({ schema_id: 0 });
  });
  it('takes the organization along, which a batch can say', () => {
    expect(whyNoReplay(group, { organization: 'demo' })).toBeUndefined();
    expect(batchFilterOf(group, { organization: 'demo' })).toMatchObject({ organization: 'demo', schema_id: 4 });
  });
  it('is drafted whatever of the cause is filtered', () => {
    expect(whyNoReplay(group, { code: 'http_422', schema_id: '4', group: 'a' })).toBeUndefined();
  });
  it.each(['owner', 'assignee', 'disposition'])('cannot say %s', (name) => {
    expect(whyNoReplay(group, { [name]: 'x' })).toContain(name);
  });
  it('needs a destination', () => {
    expect(whyNoReplay({ destination: null }, {})).toContain('no destination');
  });
});
