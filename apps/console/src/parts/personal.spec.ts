import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { looksPersonal } from './personal.js';

/** The rule stands here once more: the console is bundled by itself. So both are held against the same texts. */
const texts = JSON.parse(readFileSync(join(import.meta.dirname, '../../../../libs/delivery/src/personal-texts.json'), 'utf8')) as {
  plain: string[];
  personal: string[];
};

describe('a filter that would stand in the address', () => {
  it.each(texts.plain)('may be %j', (text) => {
    expect(looksPersonal(text)).toBe(false);
  });
  it.each(texts.personal)('may not be %j', (text) => {
    expect(looksPersonal(text)).toBe(true);
  });
});
