import { z } from 'zod';
import { type FieldProblem, parseExactJson } from '#runtime';
import { bodyProblems } from '../submission/body-problems.js';
import { repeatedNames } from '../submission/repeated-names.js';

/** Body of POST /v1/leads/{event_id}/consent. */
export const consentBody = z
  .strictObject({
    given: z.literal(false, 'must be false').meta({
      description: 'Consent can only be withdrawn here. A person who gives it anew leaves a new lead, which names this one in supersedes.',
    }),
    at: z.iso
      .datetime({ offset: true })
      .nullish()
      .meta({ description: 'When the person withdrew it, RFC 3339 with an offset; default: now.' }),
  })
  .meta({ title: 'ConsentWithdrawal' });

export type ReadConsent =
  | { ok: true; at?: Date }
  | { ok: false; malformed: string }
  | { ok: false; repeated: boolean; errors: FieldProblem[] };

/** Reads the bytes of such a body. Never throws; never repeats a value. */
export function readConsent(bytes: Buffer): ReadConsent {
  let body: unknown;
  let repeated: string[];
  try {
    const { text, value } = parseExactJson(bytes);
    body = value;
    repeated = repeatedNames(text, value);
  } catch (error) {
    return { ok: false, malformed: error instanceof SyntaxError ? error.message : 'The body cannot be read' };
  }
  const twice = { problem: 'is sent more than once', fix: 'Send it once: which of the values counts would be a guess.' };
  if (repeated.length > 0) return { ok: false, repeated: true, errors: repeated.map((field) => ({ field, ...twice })) };
  const parsed = consentBody.safeParse(body);
  if (!parsed.success) return { ok: false, repeated: false, errors: bodyProblems(parsed.error.issues, body) };
  const at = parsed.data.at == null ? undefined : new Date(parsed.data.at);
  if (at !== undefined && at.getTime() < earliestMs) return { ok: false, repeated: false, errors: [tooEarly] };
  return { ok: true, at };
}

const earliestMs = Date.UTC(2000, 0, 1);
const tooEarly = { field: 'at', problem: 'lies before the year 2000', fix: 'Send when the person withdrew consent, or leave it out.' };
