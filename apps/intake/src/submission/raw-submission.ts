export type CustomValue = string | number | boolean | null;

/** A submission as a door read it: right types, nothing checked or changed yet. `null` is absent; empty text is a field left empty. */
export interface RawSubmission {
  sourceEventId: string;
  form: string | null;
  campaign: string | null;
  /** Absent (HTTP only): the time of receipt. */
  submittedAt: Date | null;
  contact: { name: string | null; email: string | null; phone: string | null };
  message: string | null;
  consent: { given: boolean; at: Date | null };
  custom: Readonly<Record<string, CustomValue>>;
  /** sourceEventId of the submission that this one changes. */
  supersedes: string | null;
  test: boolean;
}
