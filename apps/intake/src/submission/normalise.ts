import validator from 'validator';
import type { FieldProblem, SourceConfig } from '#runtime';
import { type Normalised, normaliseEmail, normalisePhone } from './contact.js';
import type { CustomValue, RawSubmission } from './raw-submission.js';
import type { IdField } from './read-body.js';
import { slug } from './slug.js';
import { fieldPath, maxChars, maxCustomFields, textProblem } from './text.js';

/** A submission in its one normal form, whichever door it came through. Absent fields are undefined; empty text is kept. */
export interface Submission {
  organization: string;
  source: string;
  sourceEventId: string;
  form?: string;
  formSlug?: string;
  campaign?: string;
  campaignSlug?: string;
  /** Absent: the time of receipt. */
  submittedAt?: Date;
  contact: { name?: string; email?: string; phone?: string };
  message?: string;
  consent: { given: boolean; at?: Date };
  custom: Readonly<Record<string, CustomValue>>;
  supersedes?: string;
  test: boolean;
}

export type NormalisedSubmission = { ok: true; submission: Submission } | { ok: false; errors: FieldProblem[] };

/**
 * Checks and normalises one submission of a source. Every wrong field is named with its fix; no value is ever repeated. `idField`: where its id
 * was sent.
 */
export function normalise(raw: RawSubmission, source: SourceConfig, idField: IdField = 'source_event_id'): NormalisedSubmission {
  const check = new FieldChecks();
  const form = check.slugged('form', raw.form, maxChars.form);
  const campaign = check.slugged('campaign', raw.campaign, maxChars.campaign);
  const submission: Submission = {
    organization: source.organization,
    source: source.id,
    sourceEventId: check.id(idField, raw.sourceEventId),
    ...(form && { form: form.text, formSlug: form.slug }),
    ...(campaign && { campaign: campaign.text, campaignSlug: campaign.slug }),
    submittedAt: check.date('submitted_at', raw.submittedAt),
    contact: {
      name: check.text('contact.name', raw.contact.name, maxChars.name)?.trim(),
      email: check.normal('contact.email', raw.contact.email, { max: maxChars.email, rule: normaliseEmail }),
      phone: check.normal('contact.phone', raw.contact.phone, {
        max: maxChars.phone,
        rule: (text) => normalisePhone(text, source.country),
      }),
    },
    message: check.text('message', raw.message, maxChars.message),
    consent: { given: raw.consent.given, at: check.date('consent.at', raw.consent.at) },
    custom: check.custom(raw.custom),
    supersedes: raw.supersedes === null ? undefined : check.id('supersedes', raw.supersedes),
    test: raw.test,
  };
  return check.errors.length === 0 ? { ok: true, submission } : { ok: false, errors: check.errors };
}

/** A later year has no RFC 3339 form. */
const lastTimeMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Gathers what is wrong, field by field; each method gives the value on, so that one pass finds every problem. */
class FieldChecks {
  readonly errors: FieldProblem[] = [];

  text(field: string, text: string | null, max: number): string | undefined {
    if (text === null) return undefined;
    const wrong = textProblem(field, text, max);
    if (wrong) this.errors.push(wrong);
    return text;
  }

  id(field: string, text: string): string {
    if (text.trim() === '') this.errors.push({ field, problem: 'is empty', fix: 'Send the id that the source gave this submission.' });
    this.text(field, text, maxChars.sourceEventId);
    return text;
  }

  date(field: string, date: Date | null): Date | undefined {
    if (date === null) return undefined;
    if (!(date.getTime() >= 0 && date.getTime() <= lastTimeMs)) {
      this.errors.push({ field, problem: 'is not a time', fix: 'Send a time between the years 1970 and 9999.' });
    }
    return date;
  }

  normal(field: string, text: string | null, options: { max: number; rule: (text: string) => Normalised }): string | undefined {
    if (text === null) return undefined;
    const wrong = textProblem(field, text, options.max);
    if (wrong) {
      this.errors.push(wrong);
      return undefined;
    }
    const result = options.rule(text);
    if ('value' in result) return result.value;
    this.errors.push({ field, ...result });
    return undefined;
  }

  /** Form and campaign stand in events as slugs, so they must have one and must not be a person's address. */
  slugged(field: string, raw: string | null, max: number): { text: string; slug?: string } | undefined {
    if (raw === null) return undefined;
    const text = raw.trim();
    const wrong = textProblem(field, raw, max);
    if (wrong) this.errors.push(wrong);
    if (wrong || text === '') return { text };
    if (text.includes('@') && validator.isEmail(text)) {
      this.errors.push({ field, problem: 'is an e-mail address', fix: `Send the name of the ${field}; personal data belongs in contact.` });
    }
    const made = slug(text);
    if (made === '') this.errors.push({ field, problem: 'has no letter or digit', fix: `Send the name of the ${field}.` });
    return { text, slug: made };
  }

  custom(fields: Readonly<Record<string, CustomValue>>): Readonly<Record<string, CustomValue>> {
    const entries = Object.entries(fields);
    if (entries.length > maxCustomFields) {
      const problem = `has more than ${maxCustomFields} fields`;
      this.errors.push({ field: 'custom', problem, fix: `Send at most ${maxCustomFields} fields.` });
      return fields;
    }
    entries.forEach(([key, value], position) => {
      this.customField(fieldPath('custom', key, position), key, value);
    });
    return fields;
  }

  private customField(field: string, key: string, value: CustomValue): void {
    if (key === '') this.errors.push({ field, problem: 'has an empty name', fix: 'Give the field a name.' });
    // Harmless here, but a destination that merges objects would be changed by it.
    if (key === '__proto__') this.errors.push({ field, problem: 'has a reserved name', fix: 'Rename the field.' });
    const wrongName = textProblem(field, key, maxChars.customKey);
    if (wrongName) this.errors.push({ ...wrongName, problem: `its name ${wrongName.problem}` });
    if (typeof value === 'string') this.text(field, value, maxChars.customValue);
  }
}
