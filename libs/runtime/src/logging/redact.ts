import { type LogFields, logFields } from './log-fields.js';

const allowed = new Set<string>(logFields);
/** Long enough for a list of topics; anything longer is not a name or an id. */
const maxTextLength = 300;
const maxListLength = 20;
const maxFrames = 12;
const maxCauses = 3;

export interface ReducedError {
  name: string;
  code?: string | number;
  message?: string;
  stack?: string;
  constraint?: string;
  cause?: ReducedError;
}

/** The line's fields with everything dropped that the table does not name; `dropped_fields` counts those. */
export function redact(fields: LogFields): Record<string, unknown> {
  const line: Record<string, unknown> = {};
  let dropped = 0;
  for (const name in fields) {
    const value = fields[name as keyof LogFields];
    if (value === undefined) continue;
    if (name === 'err') line.err = reduceError(value);
    else if (allowed.has(name)) line[name] = plain(value);
    else dropped += 1;
  }
  if (dropped > 0) line.dropped_fields = dropped;
  return line;
}

/**
 * What of an error cannot hold data: its name, its code and where it happened. A message may quote a value (drivers do), so only errors
 * that promise otherwise by `safeMessage: true` keep theirs.
 */
function reduceError(error: unknown, depth = 1): ReducedError {
  if (typeof error !== 'object' || error === null) return { name: typeof error };
  const { name, code, message, stack, constraint, cause, safeMessage } = error as Record<string, unknown>;
  const reduced: ReducedError = { name: identifier(name) ?? 'Error' };
  const codeText = typeof code === 'number' ? code : identifier(code);
  if (codeText !== undefined) reduced.code = codeText;
  if (safeMessage === true && typeof message === 'string') reduced.message = cut(message);
  if (typeof stack === 'string') reduced.stack = frames(stack, message);
  const constraintName = identifier(constraint);
  if (constraintName !== undefined) reduced.constraint = constraintName;
  if (cause !== undefined && depth < maxCauses) reduced.cause = reduceError(cause, depth + 1);
  return reduced;
}

function plain(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
      return cut(value);
    case 'number':
    case 'boolean':
      return value;
    case 'bigint':
      return value.toString();
    default:
      return structured(value);
  }
}

function structured(value: unknown): unknown {
  if (value === null) return null;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (Array.isArray(value)) return value.slice(0, maxListLength).map((item) => (Array.isArray(item) ? '[dropped]' : plain(item)));
  return '[dropped]';
}

function cut(text: string): string {
  return text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text;
}

/** A name or code made of ordinary characters; a free text in its place is dropped. */
function identifier(value: unknown): string | undefined {
  return typeof value === 'string' && /^[A-Za-z_][A-Za-z0-9_.:-]{0,62}$|^[0-9A-Z]{5}$/.test(value) ? value : undefined;
}

const frame = /^\s+at (?:[^()\n]+ \()?(?:file:\/\/|node:|\/|[A-Za-z]:\\)[^()\n]*:\d+:\d+\)?$/;

/** The frames alone. A stack begins with the message, which may span lines and look like frames itself, so that is cut off first. */
function frames(stack: string, message: unknown): string {
  const messageAt = typeof message === 'string' ? stack.indexOf(message) : -1;
  const rest = messageAt < 0 ? stack : stack.slice(messageAt + String(message).length);
  return rest
    .split('\n')
    .filter((line) => frame.test(line))
    .slice(0, maxFrames)
    .map((line) => line.trim())
    .join('\n');
}
