import type { Dashboard, Rule, RuleTest } from './ops-files.js';
import { allSelectors, asked } from './promql.js';

/** Labels by which an alert may tell one thing from another: names of the configuration and fixed words, never ids. */
const allowedLabels = new Set(
  'app caller class destination error_class group instance job outcome owner reason route service severity tier topic'.split(' '),
);
const annotations = ['summary', 'description', 'response_target', 'escalation', 'runbook_url', 'dashboard'];

export interface Surroundings {
  owners: readonly string[];
  dashboards: readonly Pick<Dashboard, 'uid' | 'templating'>[];
  tests: readonly RuleTest[];
  /** Text of a file of the repository; undefined where there is none. */
  page(path: string): string | undefined;
}

/** What whoever is woken by this alert would miss. */
export function alertFaults(rule: Rule, around: Surroundings): string[] {
  const { labels = {}, annotations: said = {} } = rule;
  const target = said.response_target ?? '';
  return [
    ...(['page', 'ticket'].includes(labels.severity ?? '') ? [] : ['has no severity page or ticket']),
    ...(around.owners.includes(labels.owner ?? '') ? [] : ['has no owner that takes failures']),
    ...annotations.filter((name) => (said[name] ?? '').trim() === '').map((name) => `has no annotation ${name}`),
    ...(/^\d+ (min|h)$/.test(target) ? [] : [`has a response target that is no time: ${target}`]),
    ...runbookFaults(rule, around),
    ...dashboardFaults(said.dashboard ?? '', around),
    ...testFaults(rule, around),
  ];
}

/** How GitHub names the place of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(' ', '-');

function runbookFaults({ alert = '', annotations: said = {} }: Rule, { page }: Surroundings): string[] {
  const [path = '', anchor] = (said.runbook_url ?? '').split('#');
  const text = page(path);
  if (text === undefined) return [`names the runbook ${path}, which does not exist`];
  const anchors = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading ?? ''));
  return [
    ...(anchor === undefined || anchors.includes(anchor) ? [] : [`names the place ${anchor} of ${path}, which has no such heading`]),
    ...(new RegExp(`\\b${alert}\\b`).test(text) ? [] : [`is not named by its runbook ${path}`]),
  ];
}

function dashboardFaults(dashboard: string, { dashboards }: Surroundings): string[] {
  const [, uid, variable] = /^\/d\/([\w-]+)(?:\?var-(\w+)=\{\{ \$labels\.\w+ \}\})?$/.exec(dashboard) ?? [];
  const known = dashboards.find((one) => one.uid === uid);
  if (known === undefined) return [`names the dashboard ${dashboard}, which does not exist`];
  const has = variable === undefined || known.templating.list.some(({ name }) => name === variable);
  return has ? [] : [`sets ${variable} on a dashboard that has no such variable`];
}

/** The labels of each sample of this very rule that a test expects to fire. */
export function firingLabels({ alert = '', labels = {} }: Rule, tests: readonly RuleTest[]): Record<string, string>[] {
  const samples = casesOf(alert, tests).flatMap(({ exp_samples }) => exp_samples.map((sample) => matchersOf(sample.labels)));
  return samples.filter((sample) => Object.entries(labels).every(([name, value]) => sample[name] === value));
}

const matchersOf = (text: string): Record<string, string> => asked(text).selectors[0]?.matchers ?? {};

function casesOf(alert: string, tests: readonly RuleTest[]): RuleTest['promql_expr_test'] {
  const ours = `ALERTS{alertname="${alert}", alertstate="firing"}`;
  return tests.flatMap(({ promql_expr_test }) => promql_expr_test.filter(({ expr }) => expr === ours));
}

function testFaults(rule: Rule, { tests }: Surroundings): string[] {
  const fires = firingLabels(rule, tests);
  const isSilent = casesOf(rule.alert ?? '', tests).some(({ exp_samples }) => exp_samples.length === 0);
  const shown = [...JSON.stringify(rule.annotations ?? {}).matchAll(/\$labels\.(\w+)/g)].map(([, label]) => String(label));
  const labels = new Set(fires.flatMap((sample) => Object.keys(sample)));
  const ids = [...labels].filter((label) => !allowedLabels.has(label) && !label.startsWith('alert'));
  return [
    ...(fires.length > 0 ? [] : ['has no test in which it fires']),
    ...(isSilent ? [] : ['has no test in which it is silent']),
    ...(fires.length === 0 ? [] : shown.filter((label) => fires.some((sample) => sample[label] === undefined))).map(
      (label) => `shows ${label}, which it does not carry`,
    ),
    ...ids.map((label) => `carries the label ${label}, which is none to tell alerts by`),
  ];
}

/** Metrics that the expressions name, without those that recording rules make. */
export function exposedNames(rules: readonly Rule[]): string[] {
  const named = rules.flatMap(({ expr }) => allSelectors(asked(expr)).map(({ metric }) => metric));
  return [...new Set(named)].filter((metric) => !metric.includes(':') && metric !== 'up').sort();
}
