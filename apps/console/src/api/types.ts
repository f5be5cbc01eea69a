// What operator's API answers, as far as the console reads it. Times are ISO 8601 in UTC; ages and durations are milliseconds.
import type { Batch } from './batch-types.js';

export type { Batch, BatchFilter, BatchItem, DraftRequest } from './batch-types.js';
export type * from './destination-types.js';
export type * from './lead-types.js';

export const permissions = ['list', 'reveal', 'replay_request', 'replay_approve', 'delete', 'configure'] as const;
export type Permission = (typeof permissions)[number];

export interface Page<T> {
  items: T[];
  /** To be given as `after`; absent on the last page. */
  next?: string | null;
}

export interface Me {
  subject: string;
  name: string;
  roles: string[];
  permissions: Permission[];
  organizations: '*' | string[];
  /** One person may approve their own small batches under this policy. */
  single_operator_policy?: { max: number } | null;
  /** Why a permission is not there. */
  refused?: Partial<Record<Permission, string>>;
}

export interface ConsoleConfig {
  oidc?: { issuer: string; client_id: string; scope?: string; authorization_endpoint?: string; token_endpoint?: string } | null;
}

export interface SearchHit {
  kind: string;
  event_id: string;
  organization?: string | null;
  source?: string | null;
  form?: string | null;
  submitted_at?: string | null;
  state?: string | null;
}

export interface Revealed {
  until: string;
  fields: {
    name?: string | null;
    email?: string | null;
    phone?: string | null;
    message?: string | null;
    custom?: Record<string, unknown> | null;
  };
}

/** What a person must decide on; of what is held some fields are null. */
export interface DeadLetter {
  dead_letter_id: string;
  state: string;
  service: string;
  event_id: string | null;
  destination: string | null;
  lead_ref: string | null;
  organization: string | null;
  source: string | null;
  form: string | null;
  test: boolean;
  class: string;
  code: string | null;
  status: number | null;
  attempts?: number | null;
  submitted_at: string | null;
  owner: string;
  assignee?: string | null;
  disposition?: string | null;
  respond_by?: string | null;
  retention_ms_left?: number | null;
  age_ms: number;
  note_count: number;
  next_action?: string;
  runbook?: string;
  /** Of what is held: no probe before then. */
  open_until?: string | null;
}

export interface LetterGroup {
  key: string;
  class: string;
  destination: string | null;
  code: string | null;
  schema_id?: number | string | null;
  count: number;
  first_at: string;
  last_at: string;
  trend: number[];
  owner: string;
  respond_by: string | null;
  overdue: number;
  /** `mixed`: not the same for all of them. */
  disposition: string;
  assignee?: string | null;
  runbook?: string | null;
  next_action?: string | null;
  sample_event_ids?: string[];
}

export interface LetterGroups {
  as_of: string;
  items: LetterGroup[];
  /** Smaller groups that are not shown. */
  left_out: number;
}

export interface Note {
  note_id: string;
  at: string;
  by: string;
  text: string;
}

export interface BacklogPoint {
  at: string;
  /** Null: a service did not answer then. */
  waiting: number | null;
  held: number | null;
  dead: number;
  open: number | null;
  oldest_age_ms: number | null;
}

export interface WritePoint {
  at: string;
  p50: number | null;
  p95: number | null;
  p99: number | null;
}

export interface Overview {
  as_of: string;
  /** Deliveries by destination and state. */
  counts: { destination: string; state: string; count: number }[];
  oldest: { destination: string; state: string; age_ms: number | null }[];
  balance: {
    balanced: boolean | null;
    as_of?: string | null;
    accepted?: number;
    delivered?: number;
    open?: number;
    dead?: number;
    expired?: number;
    discarded?: number;
    erased?: number;
    unaccounted?: number;
  } | null;
  backlog: BacklogPoint[];
  time_to_write: WritePoint[];
  work_by_owner: { owner: string; open: number; overdue: number; oldest_age_ms?: number | null }[];
  recent_batches: Batch[];
}

export interface ErasureSummary {
  erasure_id: string;
  /** draft, running, tasks (only destinations are left), complete or expired. */
  state: string;
  /** What the person was named by. */
  kind: string;
  hash: string;
  author: string;
  approver: string | null;
  reason: string;
  organizations: string[];
  created_at: string;
  expires_at: string;
  erased_at: string | null;
  completed_at: string | null;
}

export interface Erasure extends ErasureSummary {
  /** The person has more leads than one erasure takes. */
  more: boolean;
  leads: { event_id: string; organization: string }[];
  places: { place: string; before: number; after: number | null; done: boolean }[];
  tasks: { task_id: string; destination: string; kind: string; ref: string; done: boolean; done_by: string | null }[];
}

export interface Correction {
  correction_id: string;
  /** draft, approved, sent, done, failed or expired. */
  state: string;
  event_id: string;
  destination: string;
  revision: number;
  /** Names of what changes; never the values. */
  fields: string[];
  operations: { operation_key: string; kind: string; step: 'change' | 'keep' | 'create'; found: boolean; ref?: string }[];
  hash: string;
  author: string;
  approver: string | null;
  reason: string;
  created_at: string;
  expires_at: string;
  ended_at: string | null;
  class: string | null;
  code: string | null;
}

export interface AuditEntry {
  audit_id: string;
  /** Place in the chain; null until it is sealed. */
  seq: number | null;
  at: string;
  person: string;
  caller: string;
  action: string;
  organization: string | null;
  subject: Record<string, unknown>;
}

export interface AuditReport {
  ok: boolean;
  checked: number;
  unsealed: number;
  head: { seq: number; hash: string; sealed_at: string } | null;
  findings: { kind: string; seq?: number; audit_id?: string; detail: string }[];
}
