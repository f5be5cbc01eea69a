import { describe, expect, it } from '@jest/globals';
import { standsForLead } from './stands-for-lead.js';

const site = { destinations: { crm: { primary: true }, marketing: { primary: false } } };

describe('the outcome of a lead at a destination that was removed', () => {
  it.each<[boolean, string[]]>([
    [true, ['gone']],
    [true, ['gone', 'marketing']],
    [true, ['gone', 'gone-too']],
    [false, ['crm', 'gone']],
    [false, ['gone', 'marketing', 'crm']],
  ])('is told: %s, where the lead goes to %j', (told, planned) => {
    expect(standsForLead(site, planned, 'gone')).toBe(told);
  });
});
