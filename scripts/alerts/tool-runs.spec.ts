import { describe, expect, it } from '@jest/globals';
import type { OpsFiles } from './ops-files.js';
import { dashboardRules, toolRuns, withoutTools } from './tool-runs.js';

describe('tools that this machine does not have', () => {
  it('are named and passed over', () => {
    expect(withoutTools(['promtool', 'amtool'], false)).toEqual({
      lines: ['skipped: promtool not found', 'skipped: amtool not found'],
      failed: false,
    });
  });

  it('are a failure where a change is decided about', () => {
    expect(withoutTools(['amtool'], true)).toEqual({ lines: ['missing: amtool not found'], failed: true });
    expect(withoutTools([], true)).toEqual({ lines: [], failed: false });
  });
});

describe('what the tools are asked', () => {
  const rule = { file: 'a.yml', alert: 'LeadsA', expr: 'up', labels: { severity: 'page', owner: 'sales_operations' } };
  const panels = [{ id: 3, title: 'one', targets: [{ expr: 'rate(x{destination=~"$destination"}[$__rate_interval])', legendFormat: '' }] }];
  const ops = { rules: [rule, rule], dashboards: [{ file: 'd.json', uid: 'd', templating: { list: [] }, panels }] } as unknown as OpsFiles;

  it('has every test file, and one route for each severity and owner', () => {
    const runs = toolRuns(ops, { rules: ['a.yml'], tests: ['a.test.yml', 'b.test.yml'], dashboards: '/d.json' });
    expect(runs.filter(({ args }) => args[0] === 'test').map(({ args }) => args[2])).toEqual([
      'ops/prometheus/rules/a.test.yml',
      'ops/prometheus/rules/b.test.yml',
    ]);
    const routes = runs.filter(({ args }) => args[1] === 'routes');
    expect(routes.map(({ args }) => args.slice(4))).toEqual([
      ['--verify.receivers=page-sales-operations', 'severity=page', 'owner=sales_operations'],
    ]);
  });

  it('has the expressions of the dashboards with what Grafana fills in', () => {
    const written = JSON.parse(dashboardRules(ops)) as { groups: { rules: { expr: string }[] }[] };
    expect(written.groups[0]?.rules).toEqual([
      { record: 'dashboard:panel_3:0', labels: { file: 'd.json' }, expr: 'rate(x{destination=~"sandbox-crm"}[5m])' },
    ]);
  });
});
