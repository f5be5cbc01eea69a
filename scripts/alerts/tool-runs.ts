import { join } from 'node:path';
import { filledIn, type OpsFiles, opsPaths } from './ops-files.js';

export const tools = ['promtool', 'amtool'] as const;
export type Tool = (typeof tools)[number];

export interface ToolRun {
  tool: Tool;
  args: string[];
}

/** What the tools are asked. @param files names of the rule files and of their tests; `dashboards`: path of `dashboardRules`, written out */
export function toolRuns(ops: OpsFiles, files: { rules: string[]; tests: string[]; dashboards: string }): ToolRun[] {
  const inRules = (name: string): string => join(opsPaths.rules, name);
  const receivers = new Set(
    ops.rules.flatMap(({ alert, labels = {} }) => (alert === undefined ? [] : [`${labels.severity} ${labels.owner}`])),
  );
  const routes = [...receivers].map((pair): ToolRun => {
    const [severity = '', owner = ''] = pair.split(' ');
    const wanted = `--verify.receivers=${severity}-${owner.replaceAll('_', '-')}`;
    const args = ['config', 'routes', 'test', `--config.file=${opsPaths.alertmanager}`, wanted, `severity=${severity}`, `owner=${owner}`];
    return { tool: 'amtool', args };
  });
  return [
    { tool: 'promtool', args: ['check', 'config', opsPaths.prometheus] },
    { tool: 'promtool', args: ['check', 'rules', ...files.rules.map(inRules), files.dashboards] },
    // Each by itself: they take most of the time, and run side by side.
    ...files.tests.map((name): ToolRun => ({ tool: 'promtool', args: ['test', 'rules', inRules(name)] })),
    { tool: 'amtool', args: ['check-config', opsPaths.alertmanager] },
    ...routes,
  ];
}

/** Every expression of the dashboards as a rule, so that promtool reads them as well. JSON, which is YAML. */
export function dashboardRules({ dashboards }: Pick<OpsFiles, 'dashboards'>): string {
  const groups = dashboards.map(({ file, panels }) => ({
    name: file,
    rules: panels.flatMap(({ id, targets }) =>
      targets.map(({ expr }, at) => ({ record: `dashboard:panel_${id}:${at}`, labels: { file }, expr: filledIn(expr) })),
    ),
  }));
  return JSON.stringify({ groups });
}

/**
 * What is said of tools that this machine does not have, and whether that is a failure: on a machine of one's own the tests without them say
 * most; the run that decides about a change has them.
 */
export function withoutTools(missing: readonly Tool[], isCi: boolean): { lines: string[]; failed: boolean } {
  const lines = missing.map((tool) => `${isCi ? 'missing' : 'skipped'}: ${tool} not found`);
  return { lines, failed: isCi && missing.length > 0 };
}
