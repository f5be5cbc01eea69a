import { describe, expect, it } from '@jest/globals';
import { permissionsByRole } from './permissions.js';
import { inOrganizations, mayRead, organizationsValue } from './person.js';

describe('what a person may see', () => {
  it.each([
    ['*', 'demo', true],
    ['*', null, true],
    [['demo'], 'demo', true],
    [['demo'], 'other', false],
    [['demo'], null, false],
    [['demo'], undefined, false],
    [[], 'demo', false],
  ] as const)('of organizations %j something of %j: %s', (organizations, organization, expected) => {
    expect(mayRead({ organizations }, organization)).toBe(expected);
  });

  it('is the same in SQL', () => {
    expect(inOrganizations('d.organization', 3)).toBe('($3::text[] IS NULL OR d.organization = ANY ($3::text[]))');
    expect(organizationsValue({ organizations: '*' })).toBeNull();
    expect(organizationsValue({ organizations: [] })).toEqual([]);
  });
});

describe('the roles', () => {
  it('let nobody but admin both ask for a replay and approve it', () => {
    const both = Object.entries(permissionsByRole).filter(([, held]) => held.includes('replay_request') && held.includes('replay_approve'));
    expect(both.map(([role]) => role)).toEqual(['admin']);
  });
});
