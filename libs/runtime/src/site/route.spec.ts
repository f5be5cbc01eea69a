import { describe, expect, it } from '@jest/globals';
import { route } from './route.js';
import type { RouteConfig } from './site.js';

const rule = (match: RouteConfig['match'], owner: string): RouteConfig => ({ match, destinations: ['crm'], owner, policy: 'default' });
const site = {
  routing: [
    rule({ organization: 'demo', source: 'website', form: 'contact', campaign: 'autumn' }, 'exact'),
    rule({ source: 'website', form: 'contact' }, 'form'),
    rule({ organization: 'demo' }, 'organization'),
  ],
};

describe('route', () => {
  it.each([
    [{ organization: 'demo', source: 'website', form: 'contact', campaign: 'autumn' }, 'exact'],
    [{ organization: 'demo', source: 'website', form: 'contact', campaign: 'spring' }, 'form'],
    [{ organization: 'demo', source: 'website', form: 'contact' }, 'form'],
    [{ organization: 'demo', source: 'feed' }, 'organization'],
    [{ organization: 'other', source: 'website', form: 'contact' }, 'form'],
  ])('takes the first rule whose every field fits %j', (lead, owner) => {
    expect(route(site, lead)?.owner).toBe(owner);
  });

  it('gives nothing where no rule fits: a named field is not fitted by an absent one', () => {
    expect(route(site, { organization: 'other', source: 'website' })).toBeUndefined();
  });
});
