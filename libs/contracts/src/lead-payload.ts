/**
 * What intake's vault keeps sealed of one lead: every field that may be personal. Absent fields are absent; empty text means that the person
 * left the field empty.
 */
export interface LeadPayload {
  contact: {
    name?: string;
    /** Trimmed, domain in lower case. */
    email?: string;
    /** E.164; an extension follows as `;ext=`. */
    phone?: string;
  };
  message?: string;
  /** As the source wrote them; events carry slugs. */
  form?: string;
  campaign?: string;
  /** An integer beyond 2^53 is text with every digit. */
  custom: Record<string, string | number | boolean | null>;
  consent: {
    given: boolean;
    /** ISO 8601, UTC. */
    at?: string;
  };
  /** ISO 8601, UTC. */
  submitted_at: string;
  source: string;
  source_event_id: string;
  /** Keyed hash of the person: e-mail, else phone, else lead reference. */
  person_key: string;
}

/**
 * One answer of POST /internal/v1/vault:read.
 * - 200 with `consent_withdrawn`: nothing may go to a destination that requires consent
 * - 410: nothing is kept under this reference, or not any more
 * - 500: this row alone cannot be opened (`unreadable`: its key is missing or its bytes are damaged)
 */
export type VaultReadItem =
  | { lead_ref: string; status: 200; revision: number; payload: LeadPayload; consent_withdrawn?: true }
  | { lead_ref: string; status: 410; revision: number }
  | { lead_ref: string; status: 500; revision: number; code: 'unreadable' };
