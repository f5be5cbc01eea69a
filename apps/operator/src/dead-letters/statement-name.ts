import { createHash } from 'node:crypto';

/** A name for each form of a statement that is put together: a name belongs to one text. */
export function statementName(what: string, text: string): string {
  return `operator.${what}.${createHash('sha256').update(text).digest('base64url').slice(0, 16)}`;
}
