// `npm run check [-- step …]`: everything that can be said about the code without running a server. A step is a `check:<step>` script of
// package.json. Every step runs, so that one look shows all that is wrong; one that passes stays quiet.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const root = process.cwd();
const env = { ...process.env, PATH: [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter) };

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
};

function allSteps(): Map<string, string> {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  const prefix = 'check:';
  const named = Object.entries(scripts).filter(([name]) => name.startsWith(prefix));
  return new Map(named.map(([name, command]) => [name.slice(prefix.length), command]));
}

/** Runs one step; its output is shown only when it failed. A command that cannot be started is a failure as well. */
function passes(name: string, command: string): boolean {
  const startedAt = Date.now();
  const run = spawnSync(command, {
    shell: true,
    cwd: root,
    env,
    encoding: 'utf8',
    maxBuffer: 64_000_000,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  if (run.status === 0) {
    console.log(`ok      ${name} (${seconds} s)`);
    return true;
  }
  console.log(`${run.stdout}${run.stderr}${run.error?.message ?? ''}`.trimEnd());
  console.log(`FAILED  ${name} (${seconds} s): ${fixes[name] ?? command}`);
  return false;
}

const steps = allSteps();
const wanted = process.argv.length > 2 ? process.argv.slice(2) : [...steps.keys()];
const unknown = wanted.filter((name) => !steps.has(name));
if (unknown.length > 0 || wanted.length === 0)
  throw new Error(`no such step: ${unknown.join(', ')}; there are ${[...steps.keys()].join(', ')}`);
const failed = wanted.filter((name) => !passes(name, steps.get(name) ?? ''));
if (failed.length > 0) {
  console.log(`\nnpm run check failed: ${failed.join(', ')}`);
  process.exitCode = 1;
}
