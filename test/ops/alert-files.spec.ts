import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { failureOwners, failurePolicies } from '#contracts';
import { discrepancyClasses } from '#delivery';
import { registry, watchProcess } from '#runtime';
import { alertFaults, firingLabels } from '../../scripts/alerts/alert-faults.js';
import { type MetricTable, metricFaults, seriesOf, targetLabels } from '../../scripts/alerts/metric-faults.js';
import { filledIn, type Rule, type RuleTest, readOps, ruleFiles } from '../../scripts/alerts/ops-files.js';
import { allSelectors, asked } from '../../scripts/alerts/promql.js';
import { inhibitionFaults, receiverOf, routeFaults } from '../../scripts/alerts/route-faults.js';
import { portsFrom } from '../../scripts/launcher/ports.js';

const root = join(import.meta.dirname, '../..');
const page = (path: string): string | undefined => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined);
const stopWatching = watchProcess();
afterAll(stopWatching);

const ops = readOps(root);
const alerts = ops.rules.filter(({ alert }) => alert !== undefined);
const recorded = ops.rules.flatMap(({ record, expr, labels }) => (record === undefined ? [] : [{ name: record, expr, labels }]));
const around = { owners: failureOwners, dashboards: ops.dashboards, tests: ops.tests, page };

interface Registered {
  name: string;
  labelNames: string[];
  upperBounds?: number[];
}
const table: MetricTable = new Map(
  (registry.getMetricsAsArray() as unknown as Registered[]).map(({ name, labelNames, upperBounds }) => [
    name,
    { labels: labelNames, buckets: upperBounds },
  ]),
);
const series = seriesOf(table, recorded);
const nameOf = ({ alert, record, labels }: Rule): string =>
  alert === undefined ? String(record) : `${alert} (${labels?.severity}, ${labels?.owner})`;
const faultsBy = (rules: readonly Rule[], faults: (rule: Rule) => string[]): string[] =>
  rules.flatMap((rule) => faults(rule).map((fault) => `${nameOf(rule)} ${fault}`));

/** The values of one label that the only selector of a rule takes. */
const taken = ({ expr }: Rule, label: string): string[] =>
  allSelectors(asked(expr)).flatMap(({ matchers }) => matchers[label]?.split('|') ?? []);

describe('the rules', () => {
  it('name only metrics, labels and buckets that a process exposes', () => {
    expect(ops.rules.length).toBeGreaterThan(50);
    expect(faultsBy(ops.rules, ({ expr }) => metricFaults(expr, series))).toEqual([]);
  });

  it('tell whoever is woken everything, and have a test in which each is silent and one in which it fires', () => {
    expect(alerts.length).toBeGreaterThan(35);
    expect(faultsBy(alerts, (rule) => alertFaults(rule, around))).toEqual([]);
  });

  it('are all read by Prometheus, and none of their tests is', () => {
    expect(ops.prometheus.rule_files).toEqual(ruleFiles(root, 'rules').map((file) => `rules/${file}`));
  });

  it('send the overdue letters of each failure class to its owner, and page for those of an hour at most', () => {
    const overdue = alerts.filter(({ alert }) => alert === 'LeadsDeadLettersOverdue');
    const told = overdue.flatMap((rule) => taken(rule, 'error_class').map((name) => [name, rule.labels?.owner, rule.labels?.severity]));
    const wanted = Object.entries(failurePolicies).map(([name, { owner, respondWithinMs }]) => [
      ...[name, owner],
      respondWithinMs <= 3_600_000 ? 'page' : 'ticket',
    ]);
    expect(told.sort()).toEqual(wanted.sort());
  });

  it('tell of each class of discrepancy once', () => {
    const open = alerts.filter(({ alert }) => alert === 'LeadsDiscrepancyUrgent' || alert === 'LeadsDiscrepancyOpen');
    expect(open.flatMap((rule) => taken(rule, 'class')).sort()).toEqual([...discrepancyClasses].sort());
  });

  it('know every destination of the demo that is compared by a schedule, and allow three times its interval', () => {
    const site = parse(readFileSync(join(root, 'config/demo.yaml'), 'utf8')) as {
      destinations: Record<string, { reconcile?: { every?: string } }>;
    };
    const every = Object.entries(site.destinations).flatMap(([name, { reconcile }]) =>
      reconcile?.every === undefined ? [] : [[name, reconcile.every]],
    );
    const limits = recorded.filter(({ name }) => name === 'leads:comparison_limit:seconds');
    expect(limits.map(({ labels, expr }) => [labels?.destination, expr])).toEqual(
      every.map(([name, hours]) => [name, `vector(${3 * 3_600 * Number.parseInt(String(hours), 10)})`]),
    );
    expect(every.every(([, hours]) => /^\d+h$/.test(String(hours)))).toBe(true);
  });
});

describe('the list of alerts in the documentation', () => {
  it('has each alert with its severity, owner and response target, and no other', () => {
    const lines = (page('docs/alerts.md') ?? '').split('\n').filter((line) => line.startsWith('| `Leads'));
    const wanted = alerts.map(
      ({ alert, labels, annotations }) => `| \`${alert}\` | ${labels?.severity} | ${labels?.owner} | ${annotations?.response_target} |`,
    );
    expect(lines.map((line) => line.split('|').slice(0, 5).join('|').concat('|')).sort()).toEqual(wanted.sort());
  });
});

describe('the routes', () => {
  it('bring each alert to the receiver of its severity and owner', () => {
    expect(routeFaults(ops.alertmanager, alerts)).toEqual([]);
  });

  it('show an alert that has no owner to operations', () => {
    expect(receiverOf(ops.alertmanager.route, {})).toBe('ticket-operations');
    expect(receiverOf(ops.alertmanager.route, { severity: 'page', owner: 'nobody' })).toBe('page-operations');
  });

  it('let an alert be silenced only by one that comes no later and is about the same', () => {
    expect(inhibitionFaults(ops.alertmanager, alerts, ops.tests)).toEqual([]);
  });
});

describe('the dashboards', () => {
  const panels = ops.dashboards.flatMap(({ file, panels: all }) => all.map((panel) => ({ file, ...panel })));

  it('name only metrics, labels and buckets that a process exposes', () => {
    const faults = panels.flatMap(({ file, title, targets }) =>
      targets.flatMap(({ expr }) => metricFaults(filledIn(expr), series).map((fault) => `${file}: ${title} ${fault}`)),
    );
    expect(panels.length).toBeGreaterThan(40);
    expect(faults).toEqual([]);
  });

  it('show in their legends only labels that the expression keeps', () => {
    const lost = panels.flatMap(({ file, title, targets }) =>
      targets.flatMap(({ expr, legendFormat }) => {
        const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => String(label));
        const { selectors, groupings } = asked(filledIn(expr));
        const kept = [...selectors.flatMap(({ metric }) => series.get(metric)?.labels ?? []), ...groupings.flatMap(({ labels }) => labels)];
        return named.filter((label) => !kept.includes(label)).map((label) => `${file}: ${title}: ${label}`);
      }),
    );
    expect(lost).toEqual([]);
  });

  it('have an id of their own each, and so has each panel', () => {
    expect(new Set(ops.dashboards.map(({ uid }) => uid)).size).toBe(ops.dashboards.length);
    for (const { panels: all } of ops.dashboards) expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  });
});

describe('the scrape', () => {
  const targets = ops.prometheus.scrape_configs.flatMap(({ static_configs }) => static_configs);

  it('goes to every service of the demo, by its name', () => {
    const wanted = Object.entries(portsFrom(7300).internal).map(([app, port]) => [app, [`127.0.0.1:${port}`]]);
    expect(targets.map(({ labels, targets: hosts }) => [labels.app, hosts]).sort()).toEqual(wanted.sort());
  });

  it('adds no label that a metric has already: Prometheus would rename that of the metric', () => {
    const added = [...targets.flatMap(({ labels }) => Object.keys(labels)), ...targetLabels];
    const clashes = [...table].filter(([, { labels }]) => labels.some((label) => added.includes(label)));
    expect(clashes.map(([name]) => name)).toEqual([]);
  });
});

describe('what these tests look for is found where it is wrong', () => {
  const [good] = alerts.filter(({ alert }) => alert === 'LeadsOutboxStuck');
  if (good === undefined) throw new Error('the alert that is spoilt here is gone');

  it.each([
    ['max by (app) (leads_outbox_age_seconds) > 1', 'names leads_outbox_age_seconds, which no process exposes'],
    ['leads_outbox_parked{topic="x"} > 0', 'matches leads_outbox_parked by topic, which it does not have'],
    ['sum by (destination) (leads_outbox_parked)', 'groups leads_outbox_parked by destination, which it does not have'],
    ['rate(leads_e2e_seconds[5m])', 'names leads_e2e_seconds, which no process exposes'],
    ['rate(leads_e2e_seconds_bucket{le="45"}[5m])', 'asks for the bucket 45 of leads_e2e_seconds_bucket, which has no such bound'],
  ])('an expression like %s', (expr, fault) => {
    expect(metricFaults(expr, series)).toEqual([fault]);
  });

  const said = (change: Record<string, string>): Partial<Rule> => ({ annotations: { ...good.annotations, ...change } });

  it.each<[string, Partial<Rule>]>([
    ['has no severity page or ticket', { labels: { severity: 'urgent', owner: 'operations' } }],
    ['has no owner that takes failures', { labels: { severity: 'page', owner: 'ada' } }],
    ['has a response target that is no time: soon', said({ response_target: 'soon' })],
    ['has no annotation escalation', said({ escalation: ' ' })],
    ['names the runbook docs/runbooks/no.md, which does not exist', said({ runbook_url: 'docs/runbooks/no.md' })],
    ['is not named by its runbook docs/runbooks/auth.md', said({ runbook_url: 'docs/runbooks/auth.md' })],
    [
      'names the place gone of docs/runbooks/outbox-stuck.md, which has no such heading',
      said({ runbook_url: 'docs/runbooks/outbox-stuck.md#gone' }),
    ],
    ['names the dashboard /d/none, which does not exist', said({ dashboard: '/d/none' })],
    ['shows topic, which it does not carry', said({ summary: '{{ $labels.topic }}' })],
  ])('an alert that %s', (fault, spoilt) => {
    expect(alertFaults({ ...good, ...spoilt }, around)).toContain(fault);
  });

  it('an alert without a test', () => {
    const faults = alertFaults(good, { ...around, tests: [] });
    expect(faults).toEqual(['has no test in which it fires', 'has no test in which it is silent']);
  });

  it('an alert that tells leads apart', () => {
    const labels = `ALERTS{alertname="LeadsOutboxStuck", alertstate="firing", severity="page", owner="operations", app="intake", event_id="1"}`;
    const tests: RuleTest[] = ops.tests.map((test) => ({
      ...test,
      promql_expr_test: test.promql_expr_test.map((one) => ({
        ...one,
        exp_samples: one.exp_samples.map((sample) => ({ ...sample, labels })),
      })),
    }));
    expect(firingLabels(good, tests)).toHaveLength(1);
    expect(alertFaults(good, { ...around, tests })).toEqual(['carries the label event_id, which is none to tell alerts by']);
  });

  it('a route to nobody, and an alert that takes the wrong one', () => {
    const route = { receiver: 'ticket-operations', routes: [{ receiver: 'gone', matchers: ['severity = "page"'] }] };
    const faults = routeFaults({ ...ops.alertmanager, route, receivers: [{ name: 'ticket-operations' }] }, [good]);
    expect(faults).toEqual(['a route leads to gone, which does not exist', 'LeadsOutboxStuck comes to gone, not to page-operations']);
  });

  it('an alert silenced by one that comes later, does not exist or is about something else', () => {
    const rule = {
      source_matchers: ['alertname = "LeadsDestinationFails"'],
      target_matchers: ['alertname =~ "LeadsOutboxStuck|LeadsNone"'],
      equal: ['destination'],
    };
    expect(inhibitionFaults({ ...ops.alertmanager, inhibit_rules: [rule] }, alerts, ops.tests)).toEqual([
      'LeadsNone is no alert',
      'LeadsOutboxStuck comes before what silences it',
      'LeadsOutboxStuck never carries destination',
    ]);
  });
});
