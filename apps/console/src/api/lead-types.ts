// One lead, as the API tells of it.

export interface TimelineOperation {
  operation_key: string;
  kind: string;
  state: string;
  ref?: string;
  attempts: number;
}

export interface TimelineDelivery {
  service: string;
  destination: string;
  state: string;
  class?: string;
  code?: string;
  /** Only where its owner did not answer: this is what was heard last, then. */
  as_of?: string;
  deadline_at?: string;
  /** Before an approved replay set another. */
  original_deadline_at?: string;
  generation: number;
  next_attempt_at?: string;
  /** Why it happens then, or does not. */
  why?: string;
  operations: TimelineOperation[];
}

export interface TimelineEvent {
  at: string;
  kind: string;
  title: string;
  service: string;
  destination?: string;
  operation_key?: string;
  attempt_id?: string;
  number?: number;
  outcome?: string;
  class?: string;
  code?: string;
  status?: number;
  provider_request_id?: string;
  duration_ms?: number;
  ref?: string;
  trace_id?: string;
  topic?: string;
  partition?: number;
  offset?: string;
  by?: string;
  detail?: string;
}

export interface Summary {
  what_happened: string;
  next: string;
  when?: string;
  who: string;
  seen_by_customer: string;
  seen_by_sales: string;
}

export interface TimelineLetter {
  dead_letter_id: string;
  state: string;
  closed_as: string | null;
  destination: string | null;
  class: string;
  code: string | null;
  dead_at: string;
  owner: string;
  disposition: string;
  respond_by: string;
  runbook?: string;
}

export interface TimelineReplay {
  batch_id: string;
  item_id: string;
  destination: string;
  state: string;
  batch_state: string;
  author: string | null;
  approver: string | null;
  reason: string | null;
}

export interface TimelineNotification {
  channel: string;
  template: string;
  state: string;
  next_attempt_at?: string;
}

export interface Timeline {
  event_id: string;
  lead_ref: string | null;
  organization: string;
  source: string | null;
  form: string | null;
  campaign: string | null;
  submitted_at: string | null;
  accepted_at: string | null;
  deadline_at: string | null;
  owner: string | null;
  test: boolean;
  trace_id: string | null;
  /** Null: nothing is kept, or it cannot be read now. */
  masked: { name: string | null; email: string | null; phone: string | null } | null;
  vault: { state: 'kept' | 'gone'; revision: number; consent_withdrawn_at: string | null; delete_after: string | null } | null;
  supersedes: string | null;
  superseded_by: string[];
  summary: Summary;
  deliveries: TimelineDelivery[];
  /** Oldest first. */
  events: TimelineEvent[];
  dead_letters: TimelineLetter[];
  notifications: TimelineNotification[];
  replays: TimelineReplay[];
  /** Services that did not answer. */
  unavailable: string[];
}
