import type { z } from 'zod';
import type { ConfigProblem } from './config-error.js';

type Issue = z.core.$ZodIssue;

/**
 * Turns zod's findings into problems with a fix. Only names and expectations are taken over: zod's own messages may quote the value.
 * A schema states its own problem and fix by `params: {problem, fix}` on a custom issue. `input` is what was parsed.
 */
export function describeIssues(issues: readonly Issue[], input: unknown): ConfigProblem[] {
  return issues.flatMap((issue) => {
    const path = joinPath('', issue.path);
    return isMissing(issue, input) ? [missing(issue, path)] : describe(issue, path);
  });
}

function missing(issue: Issue, path: string): ConfigProblem {
  if (issue.code === 'invalid_value') return { path, problem: 'is missing', fix: `Use one of: ${issue.values.map(String).join(', ')}` };
  return { path, problem: 'is missing', fix: issue.code === 'invalid_type' ? `Set it to ${expected(issue.expected)}` : 'Set it' };
}

function isMissing(issue: Issue, input: unknown): boolean {
  let value = input;
  for (const part of issue.path) {
    if (typeof value !== 'object' || value === null) return false;
    value = (value as Record<PropertyKey, unknown>)[part];
  }
  return value === undefined;
}

function describe(issue: Issue, path: string): ConfigProblem[] {
  switch (issue.code) {
    case 'custom':
      return [custom(issue.params, path)];
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ path: joinPath(path, [key]), problem: 'is not known here', fix: 'Remove it or correct its name' }));
    case 'invalid_type':
      return [{ path, problem: 'has the wrong type', fix: `Make it ${expected(issue.expected)}` }];
    case 'invalid_value':
      return [{ path, problem: 'is not one of the allowed values', fix: `Use one of: ${issue.values.map(String).join(', ')}` }];
    case 'too_small':
      return [{ path, problem: 'is too small', fix: `The least is ${issue.minimum} ${unit(issue.origin)}`.trim() }];
    case 'too_big':
      return [{ path, problem: 'is too large', fix: `The most is ${issue.maximum} ${unit(issue.origin)}`.trim() }];
    case 'invalid_format':
      return [{ path, problem: 'has the wrong form', fix: `Write it as ${article(formats[issue.format] ?? issue.format)}` }];
    case 'invalid_union':
      return [{ path, problem: 'fits none of the allowed forms', fix: 'See config/site.schema.json for the forms' }];
    case 'invalid_key':
      return [{ path, problem: 'is not an allowed name', fix: 'Use lower-case letters, digits and hyphens' }];
    default:
      return [{ path, problem: 'is not valid', fix: 'Correct it' }];
  }
}

const formats: Record<string, string> = { url: 'URL with http:// or https://', regex: 'value of the documented form' };

function custom(params: Record<string, unknown> | undefined, path: string): ConfigProblem {
  const problem = typeof params?.problem === 'string' ? params.problem : 'is not valid';
  const fix = typeof params?.fix === 'string' ? params.fix : 'Correct it';
  return { path, problem, fix };
}

function joinPath(root: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, root);
}

const types: Record<string, string> = {
  int: 'a whole number',
  array: 'a list',
  object: 'a map',
  boolean: 'true or false',
  record: 'a map',
};

function expected(type: string): string {
  return types[type] ?? article(type);
}

function article(words: string): string {
  return /^[aeio]/.test(words) ? `an ${words}` : `a ${words}`;
}

function unit(origin: string): string {
  if (origin === 'string') return 'characters';
  return origin === 'array' || origin === 'map' || origin === 'record' ? 'entries' : '';
}
