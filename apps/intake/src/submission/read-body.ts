import { ExactNumber, type FieldProblem, parseExactJson } from '#runtime';
import { bodyProblems, isObject } from './body-problems.js';
import { type LeadBody, leadBody } from './lead-body.js';
import type { CustomValue, RawSubmission } from './raw-submission.js';
import { repeatedNames } from './repeated-names.js';

/** Where a submission id may stand. */
export type IdField = 'source_event_id' | 'Idempotency-Key';

/**
 * What the body and the header say, as far as types go; `idField`: where the id stood, the body's where both have it; `test`: the body says that it
 * is a test lead, whatever else is wrong with it.
 */
export type ReadBody = { test: boolean } & (
  | { ok: true; raw: RawSubmission; idField: IdField }
  | { ok: false; reason: 'malformed'; detail: string }
  | { ok: false; reason: 'repeated' | 'missing_id' | 'invalid'; errors: FieldProblem[] }
);

const twice = { problem: 'is sent more than once', fix: 'Send it once: which of the values counts would be a guess.' };

/** Reads a POST /v1/leads body (bytes of JSON) and its Idempotency-Key header. Never throws; never repeats a value. */
export function readBody(bytes: Buffer, idempotencyKey: string | undefined): ReadBody {
  let body: unknown;
  let repeated: string[];
  try {
    const { text, value } = parseExactJson(bytes);
    body = value;
    repeated = repeatedNames(text, value);
  } catch (error) {
    return {
      ok: false,
      test: false,
      reason: 'malformed',
      detail: error instanceof SyntaxError ? error.message : 'The body cannot be read',
    };
  }
  const test = isObject(body) && body.test === true && !repeated.includes('test');
  if (repeated.length > 0) return { ok: false, test, reason: 'repeated', errors: repeated.map((field) => ({ field, ...twice })) };
  textForExactNumbers(body);
  const parsed = leadBody.safeParse(body);
  const errors = parsed.success ? [] : bodyProblems(parsed.error.issues, body);
  const id = submissionId(body, idempotencyKey);
  if ('errors' in id) return { ok: false, test, reason: id.missing ? 'missing_id' : 'invalid', errors: [...id.errors, ...errors] };
  if (!parsed.success) return { ok: false, test, reason: 'invalid', errors };
  return { ok: true, test, raw: toRaw(parsed.data, id.value, customOf(body)), idField: id.field };
}

function toRaw(body: LeadBody, sourceEventId: string, custom: RawSubmission['custom']): RawSubmission {
  const { contact, consent } = body;
  return {
    sourceEventId,
    form: body.form ?? null,
    campaign: body.campaign ?? null,
    submittedAt: toDate(body.submitted_at),
    contact: { name: contact.name ?? null, email: contact.email ?? null, phone: contact.phone ?? null },
    message: body.message ?? null,
    consent: { given: consent.given, at: toDate(consent.at) },
    custom,
    supersedes: body.supersedes ?? null,
    test: body.test ?? false,
  };
}

const toDate = (text: string | null | undefined): Date | null => (text == null ? null : new Date(text));

/** Taken from the body itself: a validated copy would silently lack a field named `__proto__`, which must be refused by name. */
function customOf(body: unknown): RawSubmission['custom'] {
  return ((body as { custom?: RawSubmission['custom'] | null }).custom ?? {}) as Record<string, CustomValue>;
}

function textForExactNumbers(body: unknown): void {
  const custom = isObject(body) ? body.custom : undefined;
  if (!isObject(custom)) return;
  for (const [key, value] of Object.entries(custom)) {
    if (value instanceof ExactNumber) custom[key] = value.text;
  }
}

type SubmissionId = { value: string; field: IdField } | { missing: boolean; errors: FieldProblem[] };

const visibleAscii = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** The id of the body, else of the header; a header may be quoted, as RFC 8941 strings are. */
function submissionId(body: unknown, header: string | undefined): SubmissionId {
  const given = isObject(body) ? (body.source_event_id ?? undefined) : undefined;
  // Another type than text is named by the schema already.
  const inBody = given === undefined || typeof given === 'string' ? given : undefined;
  if (given !== inBody) return { value: '', field: 'source_event_id' };
  const key = header?.trim().replace(/^"(.*)"$/, '$1');
  const headerField: IdField = 'Idempotency-Key';
  if (key !== undefined && !visibleAscii.test(key)) {
    return {
      missing: false,
      errors: [{ field: headerField, problem: 'is empty or not visible ASCII', fix: 'Send the id in source_event_id instead.' }],
    };
  }
  if (inBody === undefined && key === undefined) {
    const fix = 'Send source_event_id, or the header Idempotency-Key: an id made once per submission and kept across its retries.';
    const problem = 'is missing, and so is the other';
    return {
      missing: true,
      errors: [
        { field: 'source_event_id', problem, fix },
        { field: headerField, problem, fix },
      ],
    };
  }
  if (inBody !== undefined && key !== undefined && inBody !== key) {
    const fix = 'Send one of the two, or both with the same id.';
    return {
      missing: false,
      errors: [
        { field: 'source_event_id', problem: `differs from the header ${headerField}`, fix },
        { field: headerField, problem: 'differs from source_event_id', fix },
      ],
    };
  }
  return { value: inBody ?? key ?? '', field: inBody === undefined ? headerField : 'source_event_id' };
}
