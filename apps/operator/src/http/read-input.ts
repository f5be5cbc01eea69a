import type { z } from 'zod';
import { describeIssues } from '#runtime';
import { refusals } from './refusal.js';

/** The input as its schema reads it. Throws the refusal 422 that names every field. */
export function readInput<S extends z.ZodType>(schema: S, input: unknown): z.infer<S> {
  const kept = unkeepable(input);
  if (kept !== undefined) throw refusals.invalid([kept]);
  const parsed = schema.safeParse(input ?? {});
  if (parsed.success) return parsed.data;
  throw refusals.invalid(describeIssues(parsed.error.issues, input).map(({ path, ...rest }) => ({ field: path, ...rest })));
}

/** A surrogate without its pair. */
const halfCharacter = /\p{Surrogate}/u;

interface Unkeepable {
  field: string;
  problem: string;
  fix: string;
}

/** Where a text, or the name of a field, holds what PostgreSQL keeps in no text. */
function unkeepable(value: unknown, field = ''): Unkeepable | undefined {
  if (typeof value === 'string') return unkeepableText(value, field);
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, part] of Object.entries(value)) {
    const found = unkeepableText(key, field) ?? unkeepable(part, field === '' ? key : `${field}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function unkeepableText(text: string, field: string): Unkeepable | undefined {
  if (text.includes('\0')) return { field, problem: 'holds a NUL character', fix: 'Leave it out: no text here has one' };
  if (halfCharacter.test(text))
    return { field, problem: 'holds half of a character', fix: 'Send whole characters: a surrogate counts with its pair' };
  return undefined;
}
