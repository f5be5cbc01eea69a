import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export interface Rule {
  /** Name of the file in ops/prometheus/rules. */
  file: string;
  alert?: string;
  record?: string;
  expr: string;
  for?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

export interface RuleTest {
  name: string;
  input_series: { series: string; values: string | number }[];
  promql_expr_test: { expr: string; eval_time: string; exp_samples: { labels: string; value: number }[] }[];
}

export interface Dashboard {
  file: string;
  uid: string;
  templating: { list: { name: string; query?: string | { query: string } }[] };
  panels: { id: number; title: string; targets: { expr: string; legendFormat: string }[] }[];
}

interface Route {
  receiver: string;
  matchers?: string[];
  routes?: Route[];
}

export interface Alertmanager {
  route: Route;
  receivers: { name: string }[];
  inhibit_rules: { source_matchers: string[]; target_matchers: string[]; equal: string[] }[];
}

export interface PrometheusConfig {
  rule_files: string[];
  scrape_configs: { job_name: string; static_configs: { targets: string[]; labels: Record<string, string> }[] }[];
}

/** Everything under ops/. */
export interface OpsFiles {
  rules: Rule[];
  tests: RuleTest[];
  dashboards: Dashboard[];
  alertmanager: Alertmanager;
  prometheus: PrometheusConfig;
}

/** Where the files are, from the root of the repository. */
export const opsPaths = {
  rules: 'ops/prometheus/rules',
  prometheus: 'ops/prometheus/prometheus.yml',
  alertmanager: 'ops/alertmanager/alertmanager.yml',
  dashboards: 'ops/grafana',
} as const;

/** Names of the rule files, or of their tests. */
export function ruleFiles(root: string, kind: 'rules' | 'tests'): string[] {
  const isTest = (name: string): boolean => name.endsWith('.test.yml');
  return readdirSync(join(root, opsPaths.rules)).filter((name) => name.endsWith('.yml') && isTest(name) === (kind === 'tests'));
}

/** Throws where a file is missing or no YAML, or no JSON. */
export function readOps(root: string): OpsFiles {
  const yaml = <T>(path: string): T => parse(readFileSync(join(root, path), 'utf8'), { merge: true }) as T;
  const rules = ruleFiles(root, 'rules').flatMap((file) => {
    const { groups } = yaml<{ groups: { rules: Omit<Rule, 'file'>[] }[] }>(join(opsPaths.rules, file));
    return groups.flatMap((group) => group.rules.map((rule) => ({ ...rule, file })));
  });
  const tests = ruleFiles(root, 'tests').flatMap((file) => yaml<{ tests: RuleTest[] }>(join(opsPaths.rules, file)).tests);
  const dashboards = readdirSync(join(root, opsPaths.dashboards)).map((file) => {
    const dashboard = JSON.parse(readFileSync(join(root, opsPaths.dashboards, file), 'utf8')) as Omit<Dashboard, 'file'>;
    return { ...dashboard, file };
  });
  return { rules, tests, dashboards, alertmanager: yaml(opsPaths.alertmanager), prometheus: yaml(opsPaths.prometheus) };
}

/** The same with what Grafana fills in, as Prometheus would get it. */
export const filledIn = (expr: string): string => expr.replaceAll('$__rate_interval', '5m').replaceAll('$destination', 'sandbox-crm');
