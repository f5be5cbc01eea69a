// Bundles the packages that the compiled files import into dist/node_modules, where Node finds them before those of the project. A service
// then reads some tens of files at its start in place of two thousand small ones, which cost it most of its CPU time until it was ready.
// What is left out (native code, tools of tests) is found in the project's node_modules as ever; without dist/node_modules all of it is.
// Nothing is minified or renamed, so that stack traces name the same functions; `//#region` comments name the file that each came from.
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');
const output = join(dist, 'node_modules');
/** Fingerprint of what the bundles in `output` were built from. */
const fingerprintFile = join(output, '.built-from');

/** Packages that load native code by their own place on disk. */
const native = ['snappy', 'lz4-napi'];
const packageOf = (specifier) => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));

/** What the compiled files import from packages that services need, subpaths included, sorted. */
function importedSpecifiers() {
  const packages = new Set(Object.keys(readJson(join(root, 'package.json')).dependencies).filter((name) => !native.includes(name)));
  const imports = /\b(?:from|import)\s*\(?\s*["']([^"'.#][^"']*)["']/g;
  const files = globSync('{apps,libs,scripts,test}/**/*.js', { cwd: dist, exclude: ['apps/console/**'] });
  const found = files.flatMap((file) => [...readFileSync(join(dist, file), 'utf8').matchAll(imports)].map(([, specifier]) => specifier));
  return [...new Set(found)].filter((specifier) => packages.has(packageOf(specifier))).sort();
}

function fingerprintOf(specifiers) {
  const hash = createHash('sha256').update(specifiers.join('\n'));
  // What npm installed, which may be older than what the lock file asks for.
  const files = ['package-lock.json', 'node_modules/.package-lock.json', 'scripts/build-packages.mjs'].map((file) => join(root, file));
  for (const file of files) hash.update('\0').update(existsSync(file) ? readFileSync(file) : '');
  return hash.digest('hex');
}

/** File of a specifier in `output`, without its ending. */
const entryOf = (specifier) => (specifier === packageOf(specifier) ? `${specifier}/index` : specifier.replace(/\.js$/, ''));

/** A module per specifier that passes on all that Node itself sees in the package; named, since a bundler cannot see what CommonJS exports. */
async function facades(specifiers) {
  const texts = specifiers.map(async (specifier) => {
    const names = Object.keys(await import(specifier)).filter((name) => /^[\w$]+$/.test(name));
    return [`facade:${specifier}`, `export { ${names.join(', ')} } from ${JSON.stringify(specifier)};`];
  });
  const sources = new Map(await Promise.all(texts));
  return {
    name: 'facades',
    resolveId: (id, importer) => {
      if (sources.has(id)) return id;
      return importer?.startsWith('facade:') ? { id: fileURLToPath(import.meta.resolve(id)) } : null;
    },
    load: (id) => sources.get(id),
  };
}

/** So that Node finds the entries, and those who ask for a package's version get it. */
function describePackages(specifiers, folder) {
  for (const [name, paths] of Map.groupBy(specifiers, packageOf)) {
    const { version } = readJson(join(root, 'node_modules', name, 'package.json'));
    const exports = Object.fromEntries(paths.map((path) => [`.${path.slice(name.length)}`, `.${entryOf(path).slice(name.length)}.js`]));
    const described = { name, version, type: 'module', exports: { ...exports, './package.json': './package.json' } };
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, 'package.json'), JSON.stringify(described, undefined, 2));
  }
}

async function bundle(specifiers, folder) {
  const { rolldown } = await import('rolldown');
  const bundled = await rolldown({
    input: Object.fromEntries(specifiers.map((specifier) => [entryOf(specifier), `facade:${specifier}`])),
    platform: 'node',
    // CommonJS that exports nothing has a default for Node all the same.
    shimMissingExports: true,
    plugins: [await facades(specifiers)],
    // What cannot be found is optional there, and is looked for at run time as it would be without a bundle.
    logLevel: 'silent',
  });
  await bundled.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '.chunks/[name]-[hash].mjs',
    // Nest imports it first itself, but within a chunk its decorators run before that.
    banner: ({ name, isEntry }) => (isEntry && name.startsWith('@nestjs/') ? "import 'reflect-metadata';" : ''),
    keepNames: true,
  });
  await bundled.close();
}

/** Bundles the packages, unless that was done for the very same versions and imports. Rejects when one cannot be bundled; nothing is bundled then. */
export async function buildPackages({ force = false } = {}) {
  const specifiers = importedSpecifiers();
  const wanted = fingerprintOf(specifiers);
  if (!force && existsSync(fingerprintFile) && readFileSync(fingerprintFile, 'utf8') === wanted) return;
  const [built, old] = ['new', 'old'].map((what) => join(dist, `.packages-${what}-${process.pid}`));
  try {
    // What starts meanwhile finds the project's packages: the old bundles may lack what it imports.
    discard(old);
    await bundle(specifiers, built);
    describePackages(specifiers, built);
    writeFileSync(join(built, '.built-from'), wanted);
    discard(old);
    renameSync(built, output);
  } finally {
    rmSync(built, { recursive: true, force: true });
  }
}

/** Takes the bundles away in one step. */
function discard(aside) {
  if (!existsSync(output)) return;
  renameSync(output, aside);
  rmSync(aside, { recursive: true, force: true });
}
