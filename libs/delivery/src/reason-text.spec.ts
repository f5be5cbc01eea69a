import { describe, expect, it } from '@jest/globals';
import { describeIssues } from '#runtime';
import { commandRequest } from './command-request.js';
import { reasonText } from './reason-text.js';

describe('the reason of a decision', () => {
  it.each([
    'handed over to sales',
    '  the CRM is back  ',
    'rang at 2026-11-30 10:05:00, again 2026-12-01',
    'same as L-7KQ2M9, see INC0012345678 and #123456789',
    'event 01990000-1111-7222-8333-444455556666 was a test',
    'attempts 1-4 of 10, 250 leads, code 503',
    'ask @sales; 50% @ noon',
    'HTTP 503 for 1,465 leads @ the canary',
    'CRM was down, ticket INC-0012345678',
    'quota of 100000 per hour',
  ])('may be %j', (text) => {
    expect(reasonText.parse(text)).toBe(text.trim());
  });

  it.each([
    'told ada@example.test',
    'ADA.EXAMPLE+web@example.test wrote',
    'ａｄａ＠example.test',
    'rang +12025550123',
    'rang +1 (202) 555-0123 twice',
    'on 202-555-0123',
    'on (0202) 555 0123 4',
    'call 00 1 202 555 01 23',
    'call (202) 555-01 01',
    '<ada.l@example.test>',
    'tel:+1-202-555-0101',
    '2026-11-30: rang 2025550123',
  ])('may not be %j, and the refusal names field and fix, not the text', (reason) => {
    for (const command of ['hold', 'release']) {
      const body = { command, destination: 'crm', by: 'ada', reason };
      const { error } = commandRequest.safeParse(body);
      const problems = describeIssues(error?.issues ?? [], body);
      expect(problems).toEqual([
        { path: 'reason', problem: expect.stringContaining('looks like'), fix: expect.stringContaining('Leave it out') },
      ]);
      expect(JSON.stringify([error, problems])).not.toContain(reason);
    }
  });

  it('is no longer than 500 characters', () => {
    expect(reasonText.safeParse('x'.repeat(500)).success).toBe(true);
    expect(reasonText.safeParse('x'.repeat(501)).success).toBe(false);
  });
});
