import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { createSigner } from './sign.js';

describe('webhook signatures', () => {
  it('are those of the Standard Webhooks library, for any body', () => {
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const [ours, theirs] = [createSigner(secret), new Webhook(secret)];
    fc.assert(
      fc.property(fc.uuid(), fc.json(), (id, body) => {
        const now = new Date();
        const seconds = Math.floor(now.getTime() / 1_000);
        expect(ours.sign(id, seconds, body)).toBe(theirs.sign(id, now, body));
      }),
    );
  });

  it('verify at a receiver that uses the library', () => {
    const secret = `whsec_${randomBytes(24).toString('base64')}`;
    const seconds = Math.floor(Date.now() / 1_000);
    const body = '{"a":"ünï 🚀"}';
    const headers = {
      'webhook-id': 'key',
      'webhook-timestamp': String(seconds),
      'webhook-signature': createSigner(secret).sign('key', seconds, body),
    };
    expect(new Webhook(secret).verify(body, headers)).toEqual({ a: 'ünï 🚀' });
    expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow();
  });

  it('are not made with a secret that is too short', () => {
    expect(() => createSigner('whsec_c2hvcnQ=')).toThrow('at least 24 bytes');
  });
});
