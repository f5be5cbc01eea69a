import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '#testkit';

/** Lines of a file, with its quotes as they are read; none where there is no such file. */
const linesOf = (file: string): string[] =>
  existsSync(join(projectRoot(), file)) ? readFileSync(join(projectRoot(), file), 'utf8').replaceAll("\\'", "'").split('\n') : [];

/** True where a line of one of the files (from the root of the project) has the name of a test; `…` in it stands for any text. */
export function isNamed(name: string, files: readonly string[]): boolean {
  const parts = name.split('…').map((part) => part.trim());
  return files.flatMap(linesOf).some((line) => {
    let from = 0;
    return parts.every((part) => {
      const at = line.indexOf(part, from);
      from = at + part.length;
      return at >= 0;
    });
  });
}
