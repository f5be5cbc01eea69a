import type { z } from 'zod';
import { ConfigError, type ConfigProblem } from './config-error.js';
import { describeIssues } from './describe-issues.js';

/** The environment as far as it can be understood: a variable that is wrong or missing is absent. */
export interface ReadEnv<S extends z.ZodObject> {
  /** All of it; only where nothing is wrong. */
  env?: z.infer<S>;
  known: Partial<z.infer<S>>;
  problems: ConfigProblem[];
}

/** Reads the environment like {@link loadEnv} and never throws: what is right in it can be held against the rest of the configuration. */
export function readEnv<S extends z.ZodObject>(schema: S, env: NodeJS.ProcessEnv = process.env): ReadEnv<S> {
  const present: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const text = env[name]?.trim();
    if (text !== undefined && text !== '') present[name] = text;
  }
  const result = schema.safeParse(present);
  if (result.success) return { env: result.data, known: result.data, problems: [] };
  const wrong = new Set(result.error.issues.map(({ path: [name] }) => name));
  const right = Object.entries<z.ZodType>(schema.shape).filter(([name]) => !wrong.has(name));
  const known = Object.fromEntries(right.map(([name, variable]) => [name, variable.parse(present[name])]));
  return { known: known as Partial<z.infer<S>>, problems: describeIssues(result.error.issues, present) };
}

/**
 * Reads the process environment against a schema of variable names. Empty text counts as unset, as Compose files pass it.
 * Throws ConfigError with every problem at once; values are never part of it.
 */
export function loadEnv<S extends z.ZodObject>(schema: S, env: NodeJS.ProcessEnv = process.env): z.infer<S> {
  const { env: read, problems } = readEnv(schema, env);
  if (read === undefined) throw new ConfigError(problems);
  return read;
}

/** Runs every reader and gives all their results, or throws one ConfigError with the problems of all of them. */
export function loadAll<T extends readonly (() => unknown)[]>(...readers: T): { [K in keyof T]: ReturnType<T[K]> } {
  const problems: ConfigProblem[] = [];
  const results = readers.map((read) => {
    const { value, problems: found } = attempt(read);
    problems.push(...found);
    return value;
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return results as { [K in keyof T]: ReturnType<T[K]> };
}

/** What a reader gives, or what is wrong with the configuration it reads. Another error of it is thrown on. */
export function attempt<T>(read: () => T): { value?: T; problems: ConfigProblem[] } {
  try {
    return { value: read(), problems: [] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { problems: error.problems };
  }
}
