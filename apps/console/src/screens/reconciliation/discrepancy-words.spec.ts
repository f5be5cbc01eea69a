import { describe, expect, it } from '@jest/globals';
import { aspectOf, whyNoAccept, whyNoRepair, whyNotAll } from './discrepancy-words.js';

describe('a discrepancy', () => {
  it('is told by its aspect and the names of its fields', () => {
    expect(aspectOf({ aspect: 'value', fields: ['phone', 'lead_source'] })).toBe('a field has another value: phone, lead source');
    expect(aspectOf({ fields: [] })).toBe('');
  });

  it('is repaired while it is open or its repair failed, where an approved item can', () => {
    expect(whyNoRepair({ state: 'open', repair: 'create' })).toBeUndefined();
    expect(whyNoRepair({ state: 'repair_failed', repair: 'update' })).toBeUndefined();
    expect(whyNoRepair({ state: 'open' })).toContain('A person decides');
    expect(whyNoRepair({ state: 'repairing', repair: 'create' })).toContain('already');
    expect(whyNoRepair({ state: 'gone', repair: 'create' })).toBe('It is gone');
  });

  it('is accepted unless it has ended or is being repaired', () => {
    expect(whyNoAccept({ state: 'open' })).toBeUndefined();
    expect(whyNoAccept({ state: 'repairing' })).toContain('stop it');
    expect(whyNoAccept({ state: 'accepted' })).toBe('It is accepted');
  });

  it('is one of several that nothing can be done with until the others are ticked alone', () => {
    const which = (one: string) => (one === 'bad' ? 'It is gone' : undefined);
    expect(whyNotAll([], which)).toContain('Tick');
    expect(whyNotAll(['good'], which)).toBeUndefined();
    expect(whyNotAll(['bad'], which)).toBe('It is gone');
    expect(whyNotAll(['good', 'bad'], which)).toBe('1 of 2 ticked: It is gone');
  });
});
