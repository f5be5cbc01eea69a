import { describe, expect, it } from '@jest/globals';
import type { Site } from '#runtime';
import { maySee, organizationsOf, othersThere } from './may-see.js';

const rule = (destinations: string[], match: Site['routing'][number]['match'], chat?: string) => ({
  destinations,
  match,
  chat,
  policy: 'default',
});
const site = {
  sources: ['acme', 'birch'].map((organization) => ({ organization })) as Site['sources'],
  routing: [
    rule(['acme-crm', 'shared-crm'], { organization: 'acme' }, 'acme-sales'),
    rule(['shared-crm'], { organization: 'birch' }),
    rule(['everyone'], {}),
  ],
};
const acme = { organizations: ['acme'] };

describe('who sees a destination', () => {
  it.each([
    ['acme-crm', ['acme']],
    ['acme-sales', ['acme']],
    ['shared-crm', ['acme', 'birch']],
    ['everyone', ['acme', 'birch']],
    ['unused', []],
  ])('%s is used by %j', (name, organizations) => expect(organizationsOf(site, name)).toEqual(organizations));

  it('is who has leads that go there', () => {
    expect(['acme-crm', 'acme-sales', 'shared-crm', 'everyone', 'unused'].filter((name) => maySee(site, name, acme))).toEqual([
      'acme-crm',
      'acme-sales',
      'shared-crm',
      'everyone',
    ]);
    expect(maySee(site, 'acme-crm', { organizations: ['birch'] })).toBe(false);
    expect(maySee(site, 'unused', { organizations: '*' })).toBe(true);
  });

  it('and nobody holds it over the heads of others who use it', () => {
    expect(othersThere(site, 'acme-crm', acme)).toEqual([]);
    expect(othersThere(site, 'shared-crm', acme)).toEqual(['birch']);
    expect(othersThere(site, 'everyone', acme)).toEqual(['birch']);
    expect(othersThere(site, 'shared-crm', { organizations: '*' })).toEqual([]);
  });
});
