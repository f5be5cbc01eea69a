import { describe, expect, it } from '@jest/globals';
import { requestOf } from './run-window.js';

const now = new Date('2026-11-30T12:00:00.000Z');

function form(fields: Record<string, string>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries({ destination: 'crm', ...fields })) data.set(name, value);
  return data;
}

describe('a run that is asked for', () => {
  it('ends when it is asked for, where its window has a length', () => {
    expect(requestOf(form({ window: '24h', form: ' contact ', outcome: '' }), 'After their outage', now)).toEqual({
      destination: 'crm',
      from: '2026-11-29T12:00:00.000Z',
      form: 'contact',
      reason: 'After their outage',
    });
  });

  it('is from and to moments in the zone of the machine, where they were given', () => {
    const { from, to } = requestOf(form({ window: 'own', from: '2026-11-30T10:00', to: '2026-11-30T11:00' }), 'why', now);
    expect([from, to]).toEqual([new Date('2026-11-30T10:00').toISOString(), new Date('2026-11-30T11:00').toISOString()]);
  });

  it('needs a start', () => {
    expect(() => requestOf(form({ window: 'own', from: '' }), 'why', now)).toThrow('not whole');
    expect(() => requestOf(form({ window: 'own', from: 'soon' }), 'why', now)).toThrow('not whole');
  });
});
