import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { getCountries, getCountryCallingCode, parsePhoneNumberFromString } from 'libphonenumber-js';
import validator from 'validator';
import { isPlainEmail, isPlainPhone } from './plain-contact.js';

const digits = (min: number, max: number) =>
  fc.array(fc.constantFrom(...'0123456789'), { minLength: min, maxLength: max }).map((all) => all.join(''));

describe('a plain phone number', () => {
  it('is possible and its own normal form by the full rules, whatever its country and digits', () => {
    const codes = [...new Set(getCountries().map((country) => getCountryCallingCode(country)))];
    const numbers = fc.tuple(fc.constantFrom(...codes), digits(4, 13)).map(([code, rest]) => `+${code}${rest}`);
    let plain = 0;
    fc.assert(
      fc.property(numbers, fc.constantFrom(...getCountries()), (text, home) => {
        if (!isPlainPhone(text)) return;
        plain += 1;
        const phone = parsePhoneNumberFromString(text, { defaultCountry: home, extract: false });
        expect([phone?.isPossible(), phone?.number, phone?.ext]).toEqual([true, text, undefined]);
      }),
      { numRuns: 5_000 },
    );
    expect(plain).toBeGreaterThan(300);
  });

  it('has nothing before it that is dialled at home alone, and a length of its country', () => {
    expect(['+12025550123', '+442071838750', '+390612345678'].map(isPlainPhone)).toEqual([true, true, true]);
    expect(['+49030123456', '+120255501', '12025550123', '+1 202 555 0123', '+9991234567'].map(isPlainPhone)).toEqual(
      Array.from({ length: 5 }, () => false),
    );
  });
});

describe('a plain e-mail address', () => {
  it('is an address by the full rules', () => {
    const text = (alphabet: string, max: number) =>
      fc.array(fc.constantFrom(...alphabet), { minLength: 1, maxLength: max }).map((all) => all.join(''));
    const addresses = fc.tuple(text("aZbY9x_+.'", 12), text('bYcX0z9.-', 12), text('xnzA9.', 4));
    let plain = 0;
    fc.assert(
      fc.property(addresses, ([local, domain, top]) => {
        const address = `${local}@${domain}.${top}`;
        if (!isPlainEmail(address)) return;
        plain += 1;
        expect(validator.isEmail(address)).toBe(true);
      }),
      { numRuns: 5_000 },
    );
    expect(plain).toBeGreaterThan(100);
  });

  it('has no dot at an end, two in a row or a number for its top level', () => {
    const at = (local: string, domain: string) => isPlainEmail([local, domain].join('@'));
    expect([at('ada', 'example.test'), at('Ada.Ex+tag', 'mail.example-one.test')]).toEqual([true, true]);
    expect([at('.ada', 'example.test'), at('a..b', 'example.test'), at('Aßa', 'example.test')]).toEqual([false, false, false]);
    expect(['example', '-x.test', 'example.42'].map((domain) => at('ada', domain))).toEqual([false, false, false]);
  });
});
