import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { maskContact } from './mask.js';

describe('a masked contact', () => {
  it.each([
    [
      { name: 'Ada Example', email: 'ada@example.test', phone: '+12025550123' },
      { name: 'A…', email: 'a…@example.test', phone: '…23' },
    ],
    [
      { name: '😀 Ada', phone: '+12025550123;ext=987' },
      { name: '😀…', email: null, phone: '…23' },
    ],
    [
      { name: '', email: '', phone: '' },
      { name: '', email: '', phone: '' },
    ],
    [{}, { name: null, email: null, phone: null }],
    [{ email: '"odd@local"@example.test' }, { name: null, email: '"…@example.test', phone: null }],
  ])('of %j is %j', (contact, shown) => {
    expect(maskContact(contact)).toEqual(shown);
  });

  it('never holds more of a name than its first character, nor more of a phone number than two digits', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.stringMatching(/^\+\d{7,15}$/), (name, phone) => {
        const shown = maskContact({ name, phone });
        return Array.from(shown.name ?? '').length === 2 && (shown.phone ?? '').replace(/\D/g, '').length === 2;
      }),
    );
  });
});
