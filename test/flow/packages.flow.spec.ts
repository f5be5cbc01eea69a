import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { projectRoot } from '#testkit';

const root = projectRoot();
/** Prints, at the end, the folder of every package that the process has loaded something of. */
const tellsWhatItLoaded = `data:text/javascript,${encodeURIComponent(`
  import { writeSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  const folders = new Set();
  registerHooks({
    load(url, context, next) {
      folders.add(/^.*?\\/node_modules\\/(?:@[^/]+\\/)?[^/]+/.exec(url)?.[0]);
      return next(url, context);
    },
  });
  process.on('exit', () => writeSync(1, [...folders].join('\\n')));
`)}`;

/** Packages that an app loads before it says what is wrong with its empty environment, by the folder they are found in. */
function packagesOf(app: string): Promise<{ bundled: Set<string>; others: Set<string> }> {
  const main = join(root, 'dist/apps', app, 'src/main.js');
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', tellsWhatItLoaded, main], { env: {} }, (_error, output) => {
      const within = (folder: string): Set<string> => {
        const start = `${pathToFileURL(join(root, folder)).href}/`;
        return new Set(output.split('\n').flatMap((line) => (line.startsWith(start) ? [line.slice(start.length)] : [])));
      };
      resolve({ bundled: within('dist/node_modules'), others: within('node_modules') });
    });
  });
}

/** Native code, by its own name and its system's. */
const native = /^(snappy|@napi-rs|lz4-napi|@antoniomuso)/;

describe('the packages that an app loads', () => {
  it.each([
    ['intake', '@nestjs/platform-fastify'],
    ['operator', '@nestjs/platform-fastify'],
    ['crm-writer', 'kafkajs'],
    ['leadctl', 'commander'],
  ])('of %s are the bundled ones, but for native code', async (app, one) => {
    const { bundled, others } = await packagesOf(app);
    for (const name of ['typeorm', 'pg', 'zod', one]) expect(bundled).toContain(name);
    expect([...others].filter((name) => !native.test(name))).toEqual([]);
  });
});
