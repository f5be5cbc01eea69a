// Holds ops/ against promtool and amtool: rules and their tests, the scrape, routes, and the expressions of the dashboards. What needs no tool
// is in test/ops. A tool that is missing is named and passed over, in CI it is a failure: .ci/run installs them.
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOps, ruleFiles } from './alerts/ops-files.js';
import { dashboardRules, type ToolRun, toolRuns, tools, withoutTools } from './alerts/tool-runs.js';

const root = process.cwd();
const isCi = !['', '0', 'false'].includes(process.env.CI ?? '');

/** Undefined where it was found right, else all that the tool said. */
function faultOf({ tool, args }: ToolRun): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(tool, args, { cwd: root, timeout: 120_000 }, (error, stdout, stderr) => {
      resolve(error === null ? undefined : `${tool} ${args.join(' ')}\n${stdout}${stderr}${error.message}`);
    });
  });
}

const missing = tools.filter((tool) => spawnSync(tool, ['--version'], { stdio: 'ignore' }).error !== undefined);
const { lines, failed } = withoutTools(missing, isCi);
for (const line of lines) console.log(line);

const folder = mkdtempSync(join(tmpdir(), 'check-alerts-'));
try {
  const ops = readOps(root);
  const dashboards = join(folder, 'dashboards.json');
  writeFileSync(dashboards, dashboardRules(ops));
  const runs = toolRuns(ops, { rules: ruleFiles(root, 'rules'), tests: ruleFiles(root, 'tests'), dashboards });
  const possible = runs.filter(({ tool }) => !missing.includes(tool));
  const faults = (await Promise.all(possible.map(faultOf))).filter((fault) => fault !== undefined);
  for (const fault of faults) console.error(fault);
  console.log(`${possible.length} of ${runs.length} runs of promtool and amtool, ${faults.length} faults`);
  if (faults.length > 0 || failed || runs.length === 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
