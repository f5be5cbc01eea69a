import type { z } from 'zod';
import { describeIssues } from '#runtime';
import { refusals } from './refusal.js';

/** The input as its schema reads it. Throws the refusal 422 that names every field. */
export function readInput<S extends z.ZodType>(schema: S, input: unknown): z.infer<S> {
  const parsed = schema.safeParse(input ?? {});
  if (parsed.success) return parsed.data;
  throw refusals.invalid(describeIssues(parsed.error.issues, input).map(({ path, ...rest }) => ({ field: path, ...rest })));
}
