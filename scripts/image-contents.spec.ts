import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..');
const linesOf = (file: string): string[] => readFileSync(join(root, file), 'utf8').split('\n');

/** Files and folders of the working copy that an image's build takes in. */
const copied = linesOf('deploy/Dockerfile')
  .filter((line) => /^(?:COPY|ADD)\s+(?!--from)/.test(line))
  .flatMap((line) => line.trim().split(/\s+/).slice(1, -1));
/** What the build is given at all. */
const given = linesOf('.dockerignore').flatMap((line) => (line.startsWith('!') ? [line.slice(1).replace(/\/$/, '')] : []));

const liesIn = (path: string, folder: string): boolean => !posix.relative(folder, path).startsWith('..');

describe('the contents of an image', () => {
  it('are named one by one, and none of them is a test, a page or an example', () => {
    expect(linesOf('.dockerignore')[0]).toBe('*');
    expect(copied.length).toBeGreaterThan(0);
    for (const path of [...copied, ...given]) {
      for (const folder of ['test', 'docs', 'examples']) {
        expect([path, liesIn(path, folder) || liesIn(folder, path)]).toEqual([path, false]);
      }
    }
  });

  it('are all there, and given to the build', () => {
    const missing = copied.filter((path) => !existsSync(join(root, path)) || !given.some((one) => liesIn(path, one)));
    expect(missing).toEqual([]);
  });

  it('hold no program in another language, such as the CRM of the tests is', () => {
    expect(globSync(['libs/**/*.py', 'apps/**/*.py', 'schemas/**/*.py', 'scripts/**/*.py'], { cwd: root })).toEqual([]);
  });
});
