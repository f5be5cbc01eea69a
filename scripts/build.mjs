// Compiles every TypeScript file of apps, libs, scripts and test with SWC into dist/, keeping the tree, so that package.json "imports"
// (#contracts …) and relative imports resolve to the same files under Node as under TypeScript. Only files newer than their output are
// compiled, and each output is replaced in one step: a build does not disturb processes that run from dist/, but where the bundled
// packages have changed: what starts or loads lazily while those are made finds the project's. `--force` compiles all.
// The web console is not compiled file by file: build-console.mjs bundles it, and build-packages.mjs the packages that services load.
import { existsSync, globSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { transformFile } from '@swc/core';
import { buildConsole } from './build-console.mjs';
import { buildPackages } from './build-packages.mjs';

const root = join(import.meta.dirname, '..');
const force = process.argv.includes('--force');
const folders = ['apps', 'libs', 'scripts', 'test'];
const bundled = /^(dist\/)?apps\/console\//;
const outputOf = (source) => join(root, 'dist', source.replace(/\.ts$/, '.js'));
const sources = globSync(
  folders.map((folder) => `${folder}/**/*.ts`),
  { cwd: root, exclude: (name) => name === 'node_modules' },
).filter((file) => !/\.(spec|d)\.ts$/.test(file) && !bundled.test(file));

const settingsChangedAt = Math.max(...['.swcrc', 'scripts/build.mjs'].map((file) => statSync(join(root, file)).mtimeMs));

function isStale(source) {
  const built = statSync(outputOf(source), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return force || built < settingsChangedAt || built < statSync(join(root, source)).mtimeMs;
}

function replace(file, content) {
  mkdirSync(dirname(file), { recursive: true });
  const partial = `${file}.${process.pid}.partial`;
  writeFileSync(partial, content);
  renameSync(partial, file);
}

async function compile(source) {
  const output = outputOf(source);
  const { code, map } = await transformFile(join(root, source), {
    configFile: join(root, '.swcrc'),
    sourceFileName: relative(dirname(output), join(root, source)),
  });
  if (map !== undefined) replace(`${output}.map`, map);
  replace(output, map === undefined ? code : `${code}\n//# sourceMappingURL=${basename(output)}.map\n`);
}

function removeOrphans() {
  const wanted = new Set(sources.map(outputOf));
  for (const file of globSync('**/*.js', { cwd: join(root, 'dist'), exclude: ['node_modules/**'] }).map((name) =>
    join(root, 'dist', name),
  )) {
    if (wanted.has(file) || bundled.test(relative(root, file))) continue;
    rmSync(file, { force: true });
    rmSync(`${file}.map`, { force: true });
  }
}

const stale = sources.filter(isStale);
const results = await Promise.allSettled(stale.map(compile));
const failed = stale.filter((_, index) => results[index].status === 'rejected');
for (const [index, result] of results.entries()) if (result.status === 'rejected') console.error(`${stale[index]}: ${result.reason}`);
if (existsSync(join(root, 'dist'))) removeOrphans();
if (failed.length > 0) {
  console.error(`build: ${failed.length} of ${stale.length} files could not be compiled`);
  process.exit(1);
}
const bundles = {
  'console could': () => buildConsole({ force }),
  'packages could': () => buildPackages({ force }),
};
for (const [what, build] of Object.entries(bundles)) {
  await build().catch((error) => {
    console.error(`build: the ${what} not be built: ${error instanceof Error ? error.message : error}`);
    process.exit(1);
  });
}
