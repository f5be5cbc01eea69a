import { z } from 'zod';

/**
 * Reads the process environment against a schema of variable names. Empty text counts as unset.
 * Throws ConfigError with every problem at once; values are never part of it.
 */
export function loadEnv<S extends z.ZodObject>(schema: S, env: NodeJS.ProcessEnv = process.env): z.infer<S> {
  void schema;
  void env;
  throw new Error('not implemented');
}
