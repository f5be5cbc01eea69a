import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { LeadPayload } from '#contracts';
import { canonical } from './canonical.js';

const payload = (changes: Partial<LeadPayload> = {}): LeadPayload => ({
  contact: { name: 'Ada Example', email: 'ada@example.test', phone: '+12025550123' },
  message: 'Please call me',
  form: 'contact',
  campaign: 'autumn',
  custom: { colour: 'red', size: 5 },
  consent: { given: true, at: '2026-01-31T09:30:00.000Z' },
  submitted_at: '2026-01-31T09:30:00.000Z',
  source: 'website',
  source_event_id: 'web-1001',
  person_key: 'p',
  ...changes,
});
const text = (changes: Partial<LeadPayload> = {}) => canonical('demo', payload(changes));

describe('canonical', () => {
  it('leaves out times, ids and key order', () => {
    expect(text({ submitted_at: '2020-01-01T00:00:00.000Z', consent: { given: true }, source_event_id: 'other', person_key: 'q' })).toBe(
      text(),
    );
    expect(text({ custom: { size: 5, colour: 'red' } })).toBe(text());
    expect(text({ custom: { colour: 'red', size: '5' } })).toBe(text());
  });

  it.each<[string, Partial<LeadPayload>]>([
    ['source', { source: 'other' }],
    ['form', { form: 'callback' }],
    ['campaign', { campaign: undefined }],
    ['name', { contact: { name: 'Bob', email: 'ada@example.test', phone: '+12025550123' } }],
    ['e-mail', { contact: { name: 'Ada Example', email: '', phone: '+12025550123' } }],
    ['phone', { contact: { name: 'Ada Example', email: 'ada@example.test' } }],
    ['message', { message: 'Please write' }],
    ['empty message', { message: '' }],
    ['custom value', { custom: { colour: 'red', size: 6 } }],
    ['custom null', { custom: { colour: 'red', size: null } }],
    ['custom name', { custom: { color: 'red', size: 5 } }],
    ['consent', { consent: { given: false } }],
  ])('tells another %s apart', (_, changes) => {
    expect(text(changes)).not.toBe(text());
  });

  it('tells organizations apart', () => {
    expect(canonical('other', payload())).not.toBe(text());
  });

  it('is the same for every order of the same custom fields', () => {
    const custom = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)));
    fc.assert(
      fc.property(custom, (fields) => {
        const reversed = Object.fromEntries(Object.entries(fields).reverse());
        expect(text({ custom: reversed })).toBe(text({ custom: fields }));
      }),
    );
  });
});
