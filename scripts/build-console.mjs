// Builds the web console with Vite into dist/apps/console, unless it was built from the very same sources. Vite is loaded only when it is needed.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const source = join(root, 'apps', 'console');
const output = join(root, 'dist', 'apps', 'console');
/** Fingerprint of what the console in `output` was built from. */
const fingerprintFile = join(output, '.built-from');

function fingerprint() {
  const hash = createHash('sha256');
  const files = globSync('**/*', { cwd: source, withFileTypes: true }).filter((entry) => entry.isFile() && !entry.name.includes('.spec.'));
  for (const path of files.map((entry) => join(entry.parentPath, entry.name)).sort()) {
    hash.update(path.slice(source.length)).update('\0').update(readFileSync(path)).update('\0');
  }
  for (const name of ['vite', 'react', 'react-router', '@tanstack/react-query', 'uplot'])
    hash.update(readFileSync(join(root, 'node_modules', name, 'package.json')));
  return hash.digest('hex');
}

/** New assets have new names, so they are laid beside the old ones before the page that names them takes its place. */
function layOut(built) {
  mkdirSync(join(output, 'assets'), { recursive: true });
  const wanted = new Set(readdirSync(join(built, 'assets')));
  for (const name of readdirSync(built)) if (name !== 'index.html') cpSync(join(built, name), join(output, name), { recursive: true });
  renameSync(join(built, 'index.html'), join(output, 'index.html'));
  for (const name of readdirSync(join(output, 'assets'))) if (!wanted.has(name)) rmSync(join(output, 'assets', name), { force: true });
}

/** Rejects with what Vite says is wrong. */
export async function buildConsole({ force = false } = {}) {
  if (!existsSync(source)) return;
  const wanted = fingerprint();
  const present = existsSync(fingerprintFile) && existsSync(join(output, 'index.html'));
  if (!force && present && readFileSync(fingerprintFile, 'utf8') === wanted) return;
  const built = join(output, `.partial-${process.pid}`);
  try {
    const { build } = await import('vite');
    await build({
      configFile: join(source, 'vite.config.ts'),
      configLoader: 'native',
      logLevel: 'error',
      build: { outDir: built, emptyOutDir: true },
    });
    layOut(built);
    writeFileSync(fingerprintFile, wanted);
  } finally {
    rmSync(built, { recursive: true, force: true });
  }
}
