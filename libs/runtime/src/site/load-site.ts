import type { Site } from './site.js';

/** Reads, substitutes `${NAME}` / `${NAME:-default}`, validates and cross-checks the site file. Throws ConfigError with every problem. */
export function loadSite(file: string, env: NodeJS.ProcessEnv = process.env): Site {
  void file;
  void env;
  throw new Error('not implemented');
}
