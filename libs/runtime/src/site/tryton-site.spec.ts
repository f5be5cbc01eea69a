import { describe, expect, it } from '@jest/globals';
import { ConfigError, type ConfigProblem } from '../config/config-error.js';
import { parseSite } from './load-site.js';

const destination = {
  connector: 'tryton',
  operations: ['contact', 'lead'],
  base_url: 'https://crm.example.test/',
  secret: { file: 'tryton-password' },
  tryton: { database: 'sales', user: 'lead-delivery', company: 1, employees: { ada: 3 } },
};
const siteOf = (own: object): string =>
  JSON.stringify({
    sources: [{ id: 'website', organization: 'demo' }],
    destinations: { crm: { ...destination, ...own } },
    owners: { ada: { name: 'Ada' } },
  });

function problemsOf(own: object): ConfigProblem[] {
  try {
    parseSite(siteOf(own), {});
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('a destination that is a Tryton', () => {
  it('is read with its database, user and employees', () => {
    expect(parseSite(siteOf({}), {}).destinations.crm).toMatchObject({
      connector: 'tryton',
      baseUrl: 'https://crm.example.test',
      nativeIdempotency: false,
      tryton: { database: 'sales', user: 'lead-delivery', company: 1, employees: { ada: 3 } },
    });
  });

  it.each([
    ['its own settings', { tryton: undefined }, 'tryton'],
    ['a party before the opportunity that hangs on it', { operations: ['lead'] }, 'operations'],
    ['no settings of webhooks', { path: '/leads' }, 'path'],
    ['no templates', { lookup: { lead: '/leads?id={event_id}' } }, 'lookup'],
    ['no promise that it does not keep', { native_idempotency: true }, 'native_idempotency'],
    ['employees of owners that there are', { tryton: { ...destination.tryton, employees: { grace: 4 } } }, 'tryton.employees.grace'],
    ['a horizon behind two lookups', { uncertain_horizon: '5s' }, 'uncertain_horizon'],
  ])('needs %s', (_what, own, field) => {
    expect(problemsOf(own).map(({ path }) => path)).toEqual([`destinations.crm.${field}`]);
  });

  it('is the only one that has them', () => {
    expect(problemsOf({ connector: 'webhook' })).toMatchObject([{ path: 'destinations.crm.tryton', fix: 'Remove it' }]);
  });
});
