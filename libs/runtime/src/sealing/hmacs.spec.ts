import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { hmacs } from './hmacs.js';

const keyed = hmacs(Buffer.alloc(32, 1));

describe('keyed hashes', () => {
  it('are the same for the same input, in another process too', () => {
    const again = hmacs(Buffer.alloc(32, 1));
    expect(again.fingerprint('demo', 'x')).toBe(keyed.fingerprint('demo', 'x'));
    expect(keyed.fingerprint('demo', 'x')).toMatch(/^v1:[0-9a-f]{64}$/);
    expect(keyed.ref('demo', 'web-1001')).toMatch(/^[0-9a-f]{32}$/);
  });

  it('differ by organization, by purpose and by secret, and are no plain hash', () => {
    const texts = [
      keyed.ref('demo', 'x'),
      keyed.ref('other', 'x'),
      keyed.personKey('demo', { ref: 'x' }),
      keyed.fingerprint('demo', 'x').slice(3, 35),
      hmacs(Buffer.alloc(32, 2)).ref('demo', 'x'),
      createHash('sha256').update('x').digest('hex').slice(0, 32),
    ];
    expect(new Set(texts).size).toBe(texts.length);
  });

  it('of a person follow the e-mail, else the phone, else the reference', () => {
    const byEmail = keyed.personKey('demo', { email: 'ada@example.test', phone: '+12025550123', ref: 'L-1' });
    expect(keyed.personKey('demo', { email: 'ada@example.test', phone: null, ref: 'L-2' })).toBe(byEmail);
    const byPhone = keyed.personKey('demo', { email: '', phone: '+12025550123', ref: 'L-1' });
    expect(keyed.personKey('demo', { phone: '+12025550123', ref: 'L-2' })).toBe(byPhone);
    expect(new Set([byEmail, byPhone, keyed.personKey('demo', { ref: 'L-1' })]).size).toBe(3);
  });

  it('do not mix a phone with an equal reference', () => {
    expect(keyed.personKey('demo', { phone: '12025550123', ref: 'x' })).not.toBe(keyed.personKey('demo', { ref: '12025550123' }));
  });
});
