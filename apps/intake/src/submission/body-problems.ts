import type { z } from 'zod';
import type { FieldProblem } from '#runtime';
import { fieldPath } from './text.js';

/** Every wrong field of a body by its path (`contact.email`), with what is wrong and how to mend it; never its value. */
export function bodyProblems(issues: readonly z.core.$ZodIssue[], body: unknown): FieldProblem[] {
  return issues.flatMap((issue) => fieldProblems(issue, body));
}

/** Whether a parsed JSON value is an object: no array, not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const expectations: Record<string, { problem: string; fix: string }> = {
  string: { problem: 'is not text', fix: 'Send text in quotes.' },
  boolean: { problem: 'is not true or false', fix: 'Send true or false, without quotes.' },
  object: { problem: 'is not an object', fix: 'Send a JSON object.' },
  record: { problem: 'is not an object', fix: 'Send a JSON object of names and values.' },
};
const scalar = { problem: 'is not text, a number, true, false or null', fix: 'Send nested data as one text.' };
const timestamp = { problem: 'is not a time', fix: 'Send RFC 3339 with an offset, such as 2026-01-31T09:30:00Z.' };
const unknownField = { problem: 'is not a field of a lead', fix: 'Remove it, or send it under custom.' };

function fieldProblems(issue: z.core.$ZodIssue, body: unknown): FieldProblem[] {
  const field = pathText(issue.path, body);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key, position) => ({ field: fieldPath(field, key, position), ...unknownField }));
    case 'invalid_type': {
      if (valueAt(body, issue.path) === undefined) return [{ field: field || 'body', problem: 'is missing', fix: 'Send it.' }];
      return [{ field: field || 'body', ...(expectations[issue.expected] ?? expectations.object) } as FieldProblem];
    }
    case 'invalid_union':
      return [{ field, ...scalar }];
    case 'invalid_format':
      return [{ field, ...timestamp }];
    default:
      return [{ field: field || 'body', problem: 'is not allowed', fix: 'See /openapi.json.' }];
  }
}

/** `contact.email`; a name the sender made up is repeated only where it looks like a name. */
function pathText(path: readonly PropertyKey[], body: unknown): string {
  let parent = body;
  return path.reduce<string>((text, step) => {
    const position = isObject(parent) ? Object.keys(parent).indexOf(String(step)) : 0;
    parent = isObject(parent) ? parent[String(step)] : undefined;
    return fieldPath(text, String(step), Math.max(position, 0));
  }, '');
}

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, step) => (isObject(value) ? value[String(step)] : undefined), body);
}
