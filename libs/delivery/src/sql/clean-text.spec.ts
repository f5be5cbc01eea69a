import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cleanOptional, cleanText } from './clean-text.js';

describe('text of a provider', () => {
  it('is short, well formed and free of control characters, whatever came', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => {
        const clean = cleanText(text);
        expect(clean.length).toBeLessThanOrEqual(200);
        expect(Buffer.from(clean).toString()).toBe(clean);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
        expect(clean).not.toMatch(/[\u0000-\u001f\u007f]/);
      }),
    );
  });

  it('keeps what is fine as it is', () => {
    expect(cleanText('003xx-Ünïcode 🚀')).toBe('003xx-Ünïcode 🚀');
    expect(cleanOptional('')).toBeUndefined();
    expect(cleanOptional(undefined)).toBeUndefined();
  });
});
