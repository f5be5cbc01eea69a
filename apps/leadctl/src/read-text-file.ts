import { readFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { ConfigError } from '#runtime';

/** The text of a file that an option names, relative to where the caller stands. Throws ConfigError. */
export function readTextFile(option: string, file: string, env: NodeJS.ProcessEnv): string {
  try {
    // npm runs scripts in the project's folder and keeps the caller's in INIT_CWD.
    return readFileSync(isAbsolute(file) ? file : resolve(env.INIT_CWD ?? process.cwd(), file), 'utf8').trim();
  } catch (error) {
    const problem = `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`;
    throw new ConfigError([{ path: option, problem, fix: 'Name a file that you may read' }]);
  }
}
