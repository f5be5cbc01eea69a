import { describe, expect, it } from '@jest/globals';
import { noticeText } from './notice-text.js';

const site = { destinations: { crm: {}, erp: {} } } as never;
const facts = {
  owner: 'integration',
  ownerName: 'Integration duty',
  letters: 5,
  counts: [
    { class: 'auth', destination: 'erp', count: 1 },
    { class: 'permanent', destination: 'crm', count: 4 },
  ],
  respondBy: new Date('2026-06-01T12:30:00Z'),
  test: false,
  untold: 0,
  consoleUrl: 'https://leads.example.test',
};

describe('the message about new dead letters', () => {
  it('counts by class and destination, the most first, and says by when and where', () => {
    expect(noticeText(site, facts).split('\n')).toEqual([
      '5 new dead letters for Integration duty',
      '4 × permanent at crm',
      '1 × auth at erp',
      'Look by 2026-06-01 12:30 UTC',
      'https://leads.example.test/queues/all?owner=integration',
      '#dead_letters',
    ]);
  });

  it('repeats no name that neither the code nor the site file knows', () => {
    const counts = [
      { class: 'call Alex on 555', destination: 'alex@example.test', count: 1 },
      { class: 'routing', destination: 'unrouted', count: 1 },
      { class: 'unverified_write', destination: 'lead/sales/0f0f/lead_delivered', count: 1 },
      { class: 'decode', destination: null, count: 1 },
    ];
    const text = noticeText(site, { ...facts, counts });
    expect(text).not.toMatch(/alex|555/i);
    expect(text).toContain('1 × other at another destination');
    expect(text).toContain('1 × unverified_write at notifications');
    expect(text).toContain('1 × decode at no destination');
  });

  it('adds up what does not fit, and says what may not have arrived', () => {
    const counts = Array.from({ length: 13 }, (_, n) => ({ class: 'permanent', destination: `d${n}`, count: 1 }));
    const many = { destinations: Object.fromEntries(counts.map(({ destination }) => [destination, {}])) } as never;
    const lines = noticeText(many, { ...facts, counts, untold: 7, test: true }).split('\n');
    expect(lines[0]).toBe('TEST 5 new dead letters for Integration duty');
    expect(lines).toContain('3 × other');
    expect(lines).toContain('A message about 7 more may not have arrived.');
    expect(lines).toHaveLength(16);
  });
});
