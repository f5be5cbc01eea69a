import type { z } from 'zod';
import { ConfigError } from './config-error.js';
import { describeIssues } from './describe-issues.js';

/**
 * Reads the process environment against a schema of variable names. Empty text counts as unset, as Compose files pass it.
 * Throws ConfigError with every problem at once; values are never part of it.
 */
export function loadEnv<S extends z.ZodObject>(schema: S, env: NodeJS.ProcessEnv = process.env): z.infer<S> {
  const present: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const text = env[name]?.trim();
    if (text !== undefined && text !== '') present[name] = text;
  }
  const result = schema.safeParse(present);
  if (result.success) return result.data;
  throw new ConfigError(describeIssues(result.error.issues, present));
}

/** Runs every reader and gives all their results, or throws one ConfigError with the problems of all of them. */
export function loadAll<T extends readonly (() => unknown)[]>(...readers: T): { [K in keyof T]: ReturnType<T[K]> } {
  const problems: ConfigError['problems'] = [];
  const results = readers.map((read) => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return results as { [K in keyof T]: ReturnType<T[K]> };
}
