import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { readInput } from './read-input.js';
import type { Refusal } from './refusal.js';

const schema = z.object({ code: z.string().optional(), custom: z.record(z.string(), z.unknown()).optional() });
const refused = (input: unknown) => {
  try {
    return readInput(schema, input);
  } catch (error) {
    return (error as Refusal).problem;
  }
};

describe('what a request brings', () => {
  it('is read by its schema; nothing at all counts as an empty object', () => {
    expect(readInput(schema, { code: 'a\\u0000' })).toEqual({ code: 'a\\u0000' });
    expect(readInput(schema, { code: '\ud83d\udc99' })).toEqual({ code: '💙' });
    expect(readInput(schema, undefined)).toEqual({});
  });

  it.each([
    [{ code: 'a\0' }, 'code'],
    [{ custom: { deep: ['x', '\0'] } }, 'custom.deep.1'],
    [{ custom: { 'k\0': 1 } }, 'custom'],
    [{ code: 'half a heart: \ud83d' }, 'code'],
    [{ custom: { deep: ['x', '\udc00y'] } }, 'custom.deep.1'],
    [{ custom: { '\ud800': 1 } }, 'custom'],
    [{ code: 7 }, 'code'],
  ])('%j is refused, and the field is named', (input, field) => {
    expect(refused(input)).toMatchObject({ status: 422, errors: [{ field }] });
  });
});
