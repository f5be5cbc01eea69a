/** The personal half of a lead, as intake's vault hands it to the services that may read it. Times are ISO 8601. */
export interface LeadPayload {
  contact: { name?: string; email?: string; phone?: string };
  message?: string;
  form?: string;
  campaign?: string;
  custom: Record<string, string | number | boolean | null>;
  consent: { given: boolean; at?: string };
  submitted_at: string;
  source: string;
  source_event_id: string;
  /** Keyed hash of the person; the upsert key of contacts. */
  person_key: string;
}

export type VaultItem = { lead_ref: string; status: 200; revision: number; payload: LeadPayload } | { lead_ref: string; status: 410 };

export interface Vault {
  /** At most 500 references; answers in their order. Rejects when the vault can't be asked: no attempt may be made then. */
  read(leadRefs: readonly string[]): Promise<VaultItem[]>;
}
