import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { hmacs } from '#runtime';
import { contactKeys, searchKey } from './contact-keys.js';

const keyed = hmacs(randomBytes(32));

describe('keys of a contact', () => {
  it('are the person keys that the lead has by its e-mail and by its phone alone', () => {
    const keys = contactKeys(keyed, 'demo', { email: 'Ada@example.test', phone: '+12025550123' });
    expect(keys).toEqual({
      email: keyed.personKey('demo', { email: 'ada@example.test', ref: 'L-1' }),
      phone: keyed.personKey('demo', { phone: '+12025550123', ref: 'L-2' }),
    });
  });

  it('differ between organizations, and are absent for an absent or empty address', () => {
    const email = 'ada@example.test';
    expect(contactKeys(keyed, 'demo', { email }).email).not.toBe(contactKeys(keyed, 'other', { email }).email);
    expect(contactKeys(keyed, 'demo', { email: '' })).toEqual({ email: undefined, phone: undefined });
  });

  it('are searched by their first 64 bits, with the sign that PostgreSQL gives them', () => {
    expect(searchKey(`7fffffffffffffff${'0'.repeat(16)}`)).toBe(2n ** 63n - 1n);
    expect(searchKey(`ffffffffffffffff${'0'.repeat(16)}`)).toBe(-1n);
    expect(searchKey(undefined)).toBeUndefined();
  });
});
