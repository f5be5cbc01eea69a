import { describe, expect, it } from '@jest/globals';
import { reason, showsContact } from './reason.js';

describe('a reason', () => {
  it.each([
    'write to ada@example.test',
    'call +12025550101',
    'call (202) 555-01 01',
    'number 202 555 0101 is right',
    '<ada.l@example.test>',
    'tel:+1-202-555-0101',
  ])('that shows an address or a number (%s) is refused without being repeated', (text) => {
    expect(showsContact(text)).toBe(true);
    const { error } = reason.safeParse(text);
    expect(JSON.stringify(error?.issues)).not.toContain(text);
  });

  it.each([
    'CRM was down, ticket INC-0012345678',
    'lead 01890000-1234-7000-8000-123456789012 belongs to somebody else',
    'down from 2026-11-30 08:15 to 2026-11-30T09:20:00Z',
    'HTTP 503 for 1,465 leads @ the canary',
    'quota of 100000 per hour',
  ])('that names tickets, ids, times and figures (%s) is taken', (text) => {
    expect(reason.parse(` ${text} `)).toBe(text);
  });

  it.each(['', '   ', 'x'.repeat(501)])('that says nothing or too much (%#) is refused', (text) => {
    expect(reason.safeParse(text).success).toBe(false);
  });
});
