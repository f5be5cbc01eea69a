import { describe, expect, it } from '@jest/globals';
import { endpointsOf } from './endpoints.js';
import { portsFrom, services } from './ports.js';

const pids: Record<string, number> = { sandbox: 11, intake: 12, 'crm-writer': 13, notifier: 14 };
const endpoints = endpointsOf({
  ports: portsFrom(7300),
  connections: {
    kafkaBrokers: '127.0.0.1:7302',
    schemaRegistry: 'http://127.0.0.1:7304/apis/ccompat/v7',
    databaseUrl: 'postgresql://127.0.0.1:7305/leads',
  },
  sourceKey: 'key',
  operatorTokens: { viewer: 'v', operator: 'o', approver: 'a', admin: 'x' },
  pidOf: (app) => pids[app],
});

describe('endpoints.json', () => {
  it('has exactly the keys that scripts and tests of others rely on', () => {
    expect(Object.keys(endpoints).sort()).toEqual(
      [
        'intake',
        'operator',
        'operatorTokens',
        'sandboxCrm',
        'sandboxMarketing',
        'sandboxChat',
        'tourPorts',
        'schemaRegistry',
        'kafkaBrokers',
        'databaseUrl',
        'sourceKey',
        'metrics',
        'internal',
        'pids',
      ].sort(),
    );
    for (const byApp of [endpoints.metrics, endpoints.internal]) expect(Object.keys(byApp).sort()).toEqual([...services].sort());
  });

  it('gives base URLs without trailing slash, and the metrics page whole', () => {
    const { intake, operator, sandboxCrm, sandboxMarketing, sandboxChat, schemaRegistry, internal, metrics } = endpoints;
    const bases = [intake, operator, sandboxCrm, sandboxMarketing, sandboxChat, schemaRegistry, ...Object.values(internal)];
    expect(bases.filter((url) => url.endsWith('/') || !URL.canParse(url))).toEqual([]);
    expect(new Set(bases).size).toBe(bases.length);
    expect(metrics['crm-writer']).toBe('http://127.0.0.1:7311/metrics');
  });

  it('leaves out the pid of an app that does not run', () => {
    expect(endpoints.pids).toEqual(pids);
  });
});
