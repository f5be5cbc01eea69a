import { describe, expect, it } from '@jest/globals';
import type { LeadAccepted, LeadPayload } from '#contracts';
import { comparableEmail, comparablePhone, opportunityFields, partyFields } from './mapping.js';

const payload = {
  contact: { name: ' Ada Lovelace ', email: '', phone: '+12025550101' },
  message: 'Please call\n',
  form: 'Contact  form',
  campaign: undefined,
  custom: { budget: 20, note: null },
  submitted_at: '2026-11-30T10:00:00.000Z',
  source: 'website',
} as unknown as LeadPayload;
const event = { lead_ref: 'L-1', test: false } as LeadAccepted;

describe('what a lead becomes in Tryton', () => {
  it('leaves out what the person left empty', () => {
    expect(partyFields(payload)).toEqual({ name: 'Ada Lovelace', phone: '+12025550101' });
  });

  it('is one line to find it by, and all that was said', () => {
    expect(opportunityFields({ event, payload })).toEqual({
      description: 'Contact form',
      comment: 'Please call\n\nbudget: 20\nnote:\n\nSource: website\nSubmitted: 2026-11-30T10:00:00.000Z\nLead: L-1',
    });
    expect(opportunityFields({ event: { ...event, test: true }, payload: { ...payload, form: '' } }).description).toBe('[test] website');
  });

  it('compares numbers and addresses by what they reach', () => {
    expect(['+1 202-555-0101', '+12025550101;ext=5', '+1 (202) 555 0101 ext. 5'].map(comparablePhone)).toEqual(
      Array(3).fill('+12025550101'),
    );
    expect(comparableEmail('Ada@Example.TEST ')).toBe('Ada@example.test');
  });
});
