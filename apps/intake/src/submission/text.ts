import type { FieldProblem } from '#runtime';

/** Longest text per field, in characters (code points). Long enough for every form we know, short enough for one Kafka record. */
export const maxChars = {
  sourceEventId: 255,
  name: 500,
  email: 254,
  phone: 60,
  message: 20_000,
  form: 100,
  campaign: 100,
  customKey: 100,
  customValue: 5_000,
} as const;
export const maxCustomFields = 100;

/** A text without any of these (NUL, a code unit of a surrogate pair) needs no closer look. */
const suspicious = /[\0\ud800-\udfff]/;

/** What is wrong with a text, or undefined. Nothing is cut or replaced: a character we cannot carry to every destination is refused by name. */
export function textProblem(field: string, text: string, max: number): FieldProblem | undefined {
  if (text.length <= max && !suspicious.test(text)) return undefined;
  if (text.includes('\u0000')) return { field, problem: 'contains the NUL character', fix: 'Remove U+0000.' };
  if (/\p{Surrogate}/u.test(text)) {
    return {
      field,
      problem: 'contains half of a surrogate pair',
      fix: 'Send well-formed Unicode; an emoji cut in two is the usual cause.',
    };
  }
  if (text.length > max && Array.from(text).length > max) {
    return { field, problem: `is longer than ${max} characters`, fix: `Send at most ${max} characters.` };
  }
  return undefined;
}

const plainName = /^[A-Za-z_][\w-]{0,63}$/;

/** How a sender's own field name is repeated to them: by name where it looks like one, else by position, since a name may hold anything. */
export function fieldPath(parent: string, name: string, position: number): string {
  if (!plainName.test(name)) return `${parent || 'body'}[${position}]`;
  return parent === '' ? name : `${parent}.${name}`;
}
