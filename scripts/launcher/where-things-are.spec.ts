import { expect, it } from '@jest/globals';
import { endpointsOf } from './endpoints.js';
import { portsFrom } from './ports.js';
import { whereThingsAre } from './where-things-are.js';

const lines = whereThingsAre(
  endpointsOf({
    ports: portsFrom(7300),
    connections: {
      kafkaBrokers: '127.0.0.1:7302',
      schemaRegistry: 'http://127.0.0.1:7304/apis/ccompat/v7',
      databaseUrl: 'postgresql://postgres:quagga@127.0.0.1:7305/leads',
    },
    sourceKey: 'zorilla',
    operatorTokens: { viewer: 'okapi', admin: 'numbat' },
    pidOf: () => undefined,
  }),
  '/somewhere/.run',
).join('\n');

it('names both doors of people: where leads go in, and where what became of them is seen', () => {
  expect(lines).toContain('http://127.0.0.1:7300/v1/leads');
  expect(lines).toContain('http://127.0.0.1:7306/ ');
});

it('names a login per role that there is one for', () => {
  expect(lines).toMatch(/log in as viewer +okapi/);
  expect(lines).toMatch(/log in as admin +numbat/);
  expect(lines).not.toContain('approver');
});

it('names the command that counts whether every lead is there, for this instance', () => {
  expect(lines).toContain('npm run leadctl -- balance --run-dir /somewhere/.run');
});

it('shows no password and no key', () => {
  expect(lines).toContain('127.0.0.1:7305/leads');
  expect(lines).not.toMatch(/quagga|zorilla/);
});
