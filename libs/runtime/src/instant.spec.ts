import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { instant } from './instant.js';

describe('instant', () => {
  it.each([
    ['2026-11-30T14:40:00.734Z', '2026-11-30T14:40:00.734Z'],
    ['2026-11-30T14:40:00+05:30', '2026-11-30T09:10:00.000Z'],
    ['0015-10-16T02:02:41.67-16:12', '0015-10-16T18:14:41.670Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
  ])('reads %s as a time in UTC', (text, utc) => {
    expect(instant.parse(text)).toBe(utc);
  });

  it.each([
    '0000-06-01T00:00:00Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '2026-11-30T14:40:00',
    '2026-13-01T00:00:00Z',
    '',
  ])('refuses %s', (text) => {
    expect(instant.safeParse(text).success).toBe(false);
  });

  it('is described as a time', () => {
    expect(z.toJSONSchema(instant)).toMatchObject({ type: 'string', format: 'date-time' });
  });
});
