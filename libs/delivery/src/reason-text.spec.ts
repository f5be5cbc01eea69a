import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { describeIssues } from '#runtime';
import { commandRequest } from './command-request.js';
import { reasonText } from './reason-text.js';

/** Those of the console's filters too: the same rule stands there. */
const texts = JSON.parse(readFileSync(join(import.meta.dirname, 'personal-texts.json'), 'utf8')) as { plain: string[]; personal: string[] };

describe('the reason of a decision', () => {
  it.each(texts.plain)('may be %j', (text) => {
    expect(reasonText.parse(text)).toBe(text.trim());
  });

  it.each(texts.personal)('may not be %j, and the refusal names field and fix, not the text', (reason) => {
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
