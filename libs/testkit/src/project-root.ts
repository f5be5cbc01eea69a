import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of the project, found from the source tree and from dist/ alike: the nearest folder above with a package-lock.json. */
export function projectRoot(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'package-lock.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error('package-lock.json was not found in any folder above: run from inside a clone of the project');
    folder = parent;
  }
  return folder;
}

/** Downloads that every run directory and test run of this clone shares. */
export function cacheDir(...parts: string[]): string {
  return join(projectRoot(), '.cache', ...parts);
}
