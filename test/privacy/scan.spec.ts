import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Needles } from './needles.js';
import { leakForms, person, plantedValues, plantFields, plantLead } from './planted.js';
import { scan, type Written } from './scan.js';

const { name, email, phone, message } = person(3);
const sha256 = (text: string) => createHash('sha256').update(text).digest();
const found = (text: string | Buffer): boolean =>
  new Needles(plantedValues()).find(typeof text === 'string' ? Buffer.from(text) : text).length > 0;

describe('the search for planted values', () => {
  it.each<[string, string | Buffer]>([
    ['as it is', `{"to":"${email}"}`],
    ['in lower case', `to ${name.toLowerCase()}`],
    ['with its digits only', `tel ${phone.replace('+', '00')}`],
    ['URL-encoded', `/find?q=${encodeURIComponent(message)}&n=1`],
    ['form-encoded', new URLSearchParams({ a: 'b', message }).toString()],
    ['in base64', Buffer.from(email).toString('base64')],
    ['in base64 of a text around it', Buffer.from(`{"a":"${name}"}`).toString('base64')],
    ['in base64 of a text around it, one byte on', Buffer.from(`{"ab":"${name}"}`).toString('base64')],
    ['in base64 of a text around it, two bytes on', Buffer.from(`{"abc":"${message}"}`).toString('base64url')],
    ['JSON-escaped', JSON.stringify({ message }).replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)],
    ['as an unkeyed SHA-256', sha256(email.toLowerCase()).toString('hex')],
    ['as an unkeyed SHA-256 in base64', sha256(phone).toString('base64')],
    ['as the bytes of an unkeyed SHA-256', Buffer.concat([Buffer.from([0, 1]), sha256(email.toLowerCase()), Buffer.from([255])])],
  ])('finds one %s', (_, text) => {
    expect(found(text)).toBe(true);
  });

  it('finds nothing in what is about nobody', () => {
    expect(found('{"event_id":"0199aaaa-0000-7000-8000-000000000000","lead_ref":"L-7KQ0000000000000","status":202}')).toBe(false);
  });

  it('finds every form of every value wherever it stands, and names it', () => {
    const values = plantedValues();
    const needles = new Needles(values);
    const all = values.flatMap((text, value) => leakForms(text).map((bytes, form) => ({ value, form, bytes })));
    fc.assert(
      fc.property(fc.constantFrom(...all), fc.uint8Array(), fc.uint8Array(), ({ value, form, bytes }, before, after) => {
        const text = Buffer.concat([before, bytes, after]);
        expect(needles.find(text)).toContainEqual({ value, form });
      }),
    );
  });

  it('finds what a test plants itself, and passes over what is too short to mean anything', () => {
    const lead = { form: 'contact', message: ' Wants a kingfisher ', contact: { name: 'plain', email: 'Own@Example.test', phone: null } };
    expect([found('wants a kingfisher'), found('own@example.test'), found('+12025550155')]).toEqual([false, false, false]);
    plantLead(lead);
    plantFields({ phone: '+12025550155', id: 'not-personal' });
    expect([found('wants a kingfisher'), found('own@example.test'), found('1-2025550155, 12025550155')]).toEqual([true, true, true]);
    expect(found('text/plain of contact not-personal')).toBe(false);
  });

  it('says where, and how much was read', async () => {
    async function* pieces(): AsyncGenerator<Written> {
      yield { where: 'clean', bytes: Buffer.from('nothing') };
      yield { where: 'log', bytes: Buffer.from(`mail to ${email}`) };
    }
    const { leaks, pieces: read } = await scan(pieces());
    expect(read).toBe(2);
    expect(new Set(leaks.map(({ where }) => where))).toEqual(new Set(['log']));
  });
});
