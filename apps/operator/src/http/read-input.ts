import type { z } from 'zod';
import { describeIssues } from '#runtime';
import { refusals } from './refusal.js';

/** The input as its schema reads it. Throws the refusal 422 that names every field. */
export function readInput<S extends z.ZodType>(schema: S, input: unknown): z.infer<S> {
  const field = fieldWithNul(input);
  if (field !== undefined) throw refusals.invalid([{ field, problem: 'holds a NUL character', fix: 'Leave it out: no text here has one' }]);
  const parsed = schema.safeParse(input ?? {});
  if (parsed.success) return parsed.data;
  throw refusals.invalid(describeIssues(parsed.error.issues, input).map(({ path, ...rest }) => ({ field: path, ...rest })));
}

/** Where a text holds the character that PostgreSQL keeps in no text. */
function fieldWithNul(value: unknown, path = ''): string | undefined {
  if (typeof value === 'string') return value.includes('\0') ? path : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, part] of Object.entries(value)) {
    if (key.includes('\0')) return path;
    const found = fieldWithNul(part, path === '' ? key : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
