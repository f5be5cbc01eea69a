// `npm run check [-- step …]`: everything that can be said about the code without running a server. A step is a `check:<step>` script of
// package.json. Every step runs, two at a time, so that one look shows all that is wrong; one that passes stays quiet.
import { exec } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const root = process.cwd();
const env = { ...process.env, PATH: [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter) };

const atOnce = 2;
/** They begin first: the others are done beside them. */
const longest = ['lint', 'types'];

/** What a reader does about a red step. */
const fixes: Record<string, string> = {
  format: 'npx biome check --write .',
  lint: 'see eslint.config.mjs',
  types: 'see tsconfig.json',
  imports: 'each rule is explained in .dependency-cruiser.mjs',
  'dead-code': 'remove the file, export or package',
  generated: 'npm run generate',
  schemas: 'schemas/README.md tells what may change',
  hygiene: 'see scripts/hygiene.ts',
  'failure-classes': 'see scripts/failure-classes.ts',
  alerts: 'docs/alerts.md; Debian: apt-get install prometheus prometheus-alertmanager',
};

function allSteps(): Map<string, string> {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  const prefix = 'check:';
  const named = Object.entries(scripts).filter(([name]) => name.startsWith(prefix));
  return new Map(named.map(([name, command]) => [name.slice(prefix.length), command]));
}

/** Runs one step; its output is shown only when it failed, but for what it says it skipped. A command that cannot be started is a failure as well. */
async function passes(name: string, command: string): Promise<boolean> {
  const startedAt = Date.now();
  const run = await new Promise<{ error: Error | null; stdout: string; stderr: string }>((resolve) => {
    const child = exec(command, { cwd: root, env, maxBuffer: 64_000_000 }, (error, stdout, stderr) => resolve({ error, stdout, stderr }));
    child.stdin?.end();
  });
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  if (run.error === null) {
    const skipped = run.stdout.split('\n').filter((line) => line.startsWith('skipped: '));
    console.log([`ok      ${name} (${seconds} s)`, ...skipped].join('; '));
    return true;
  }
  console.log(`${run.stdout}${run.stderr}`.trimEnd() || run.error.message);
  console.log(`FAILED  ${name} (${seconds} s): ${fixes[name] ?? command}`);
  return false;
}

/** Those of the steps that fail. */
async function failing(names: readonly string[]): Promise<string[]> {
  const left = [...names].sort((one, other) => Number(longest.includes(other)) - Number(longest.includes(one)));
  const failed: string[] = [];
  const runOn = async (): Promise<void> => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      if (!(await passes(name, steps.get(name) ?? ''))) failed.push(name);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runOn));
  return failed;
}

const steps = allSteps();
const wanted = process.argv.length > 2 ? process.argv.slice(2) : [...steps.keys()];
const unknown = wanted.filter((name) => !steps.has(name));
if (unknown.length > 0 || wanted.length === 0)
  throw new Error(`no such step: ${unknown.join(', ')}; there are ${[...steps.keys()].join(', ')}`);
const failed = await failing(wanted);
if (failed.length > 0) {
  console.log(`\nnpm run check failed: ${failed.join(', ')}`);
  process.exitCode = 1;
}
