// Compiles every app, lib and script with SWC into dist/, keeping the tree, so that package.json "imports" (#contracts …) and relative
// imports resolve to the same files under Node as under TypeScript. Skips the work when nothing is newer than the last build.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const stamp = join(root, 'dist', '.built');
const sources = globSync(['apps/**/*', 'libs/**/*', 'scripts/**/*', 'test/**/*', '.swcrc', 'package-lock.json'], {
  cwd: root,
  exclude: (name) => name === 'node_modules',
});
const newest = Math.max(...sources.map((file) => statSync(join(root, file)).mtimeMs));
if (existsSync(stamp) && statSync(stamp).mtimeMs > newest && !process.argv.includes('--force')) process.exit(0);

rmSync(join(root, 'dist'), { recursive: true, force: true });
const swc = join(root, 'node_modules', '@swc', 'cli', 'bin', 'swc.js');
const result = spawnSync(
  process.execPath,
  [swc, 'apps', 'libs', 'scripts', 'test', '--out-dir', 'dist', '--quiet', '--extensions', '.ts', '--ignore', '**/*.spec.ts'],
  { cwd: root, stdio: 'inherit' },
);
if (result.status !== 0) process.exit(result.status ?? 1);
mkdirSync(join(root, 'dist'), { recursive: true });
writeFileSync(stamp, new Date().toISOString());
