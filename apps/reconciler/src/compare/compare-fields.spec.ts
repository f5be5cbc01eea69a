import { describe, expect, it } from '@jest/globals';
import { differingFields, type FieldsAsked } from './compare-fields.js';

const told = (expected: object, found: object, more: Partial<FieldsAsked> = {}): string[] =>
  differingFields({ expected: { custom: expected }, found: { custom: found }, truth: {}, newer: [], ...more }).map((field) => field.told);

describe('fields whose keys a form chose', () => {
  it('are not one for having the same letters in another case, or written otherwise', () => {
    const both = { Size: 'M', size: 'L' };
    expect(told(both, both)).toEqual([]);
    expect(told(both, { Size: 'L', size: 'M' })).toEqual(['custom.Size', 'custom.size']);
    expect(told({ Size: 'M' }, { size: 'M' })).toEqual(['custom.Size']);
    expect(told({ 'Gr\u00f6\u00dfe': 'M' }, { 'Gro\u0308\u00dfe': 'M' }, { hide: () => 'aa' })).toEqual(['custom.#aa']);
  });

  it('are not one with a field of an object that is written alike, but found in its place where there is no other', () => {
    expect(told({ 'a.b': 1 }, { 'a.b': 1, a: { b: 2 } })).toEqual([]);
    expect(told({ 'a.b': 1 }, { a: { b: 2 }, 'a.b': 1 })).toEqual([]);
    expect(told({ 'a.b': 2 }, { 'a.b': 1, a: { b: 2 } })).toEqual(['custom']);
    expect(told({ 'a.b': 1 }, { a: { b: 1 } })).toEqual([]);
  });

  it('stay apart where their names are not told', () => {
    const hide = (name: string): string => String(name.length);
    expect(told({ 'Your name': 1, 'Your address': 1, budget: 1 }, {}, { hide })).toEqual(['custom.#16', 'custom.#19', 'custom.budget']);
    expect(told({ 'Your name': { first: 1 } }, {}, { hide })).toEqual(['custom.#22']);
  });
});
