// Runs before `npm start`, `npm test` and the like, on whatever Node is there (20 or newer), in a clone where nothing was installed yet:
// names every missing prerequisite at once, installs the packages when they are missing or stale, and builds. Quick when all is in place.
//   --embedded    Kafka and the registry will be started here (tests), whatever the environment says
//   --tests       names beside it what only some tests need, and goes on without: those of one stage may need nothing of it
//   --packages    only packages and build: no Java or Maven needed
//   --if-missing  nothing but the build, when dist/ is there already
// Says what it does on standard error: standard output belongs to what is run after it, which may print JSON.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { missingForTests, missingPrerequisites } from './prerequisites.mjs';

const root = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..');
const flags = new Set(process.argv.slice(2));

/** True when every package of the lock file is installed in its version; packages for other systems may be absent. */
function packagesInstalled() {
  const installedFile = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(installedFile)) return false;
  const installed = JSON.parse(readFileSync(installedFile, 'utf8')).packages;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => path === '' || (path in installed ? installed[path].version === version : optional === true),
  );
}

async function installPackages() {
  console.error('Installing packages (about 400 MB on disk, a minute or so, once)');
  const startedAt = Date.now();
  const ticking = setInterval(() => console.error(`  … ${Math.round((Date.now() - startedAt) / 1000)} s`), 10_000);
  const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm'];
  const args = [...npm.slice(1), 'ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  const install = spawn(npm[0], args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  const code = await new Promise((resolve) => {
    install.once('error', (error) => resolve(error.message));
    install.once('close', resolve);
  });
  clearInterval(ticking);
  if (code !== 0) fail(`npm ci ended with ${code}`);
}

/** Runs with the project's own Node, which its packages bring along. */
function build() {
  const node = join(root, 'node_modules', 'node', 'bin', 'node');
  // Where install scripts are switched off, the binary is not linked into place yet.
  if (!existsSync(node))
    spawnSync('npm', ['rebuild', 'node', '--ignore-scripts=false'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  if (!existsSync(node)) fail("the package `node` brought no binary: allow npm's install scripts for this project and run `npm ci`");
  const { status } = spawnSync(node, [join(root, 'scripts', 'build.mjs')], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}

function fail(reason) {
  console.error(`\nNot started: ${reason}`);
  process.exit(1);
}

if (flags.has('--if-missing') && existsSync(join(root, 'dist', 'scripts'))) process.exit(0);
const missing = missingPrerequisites({
  root,
  packagesOnly: flags.has('--packages') || flags.has('--if-missing'),
  embedded: flags.has('--embedded'),
});
const listed = (lines) => lines.map((line) => `  - ${line}`).join('\n');
const forTests = flags.has('--tests') ? missingForTests() : [];
if (missing.length > 0) fail(`something is missing here.\n${listed([...missing, ...forTests])}`);
if (forTests.length > 0) console.error(`Some tests will fail for lack of:\n${listed(forTests)}`);
if (!packagesInstalled()) await installPackages();
build();
