// Replay batches, as the API tells of them.

export interface BatchCounts {
  items: number;
  eligible: number;
  approved: number;
  sent: number;
  succeeded: number;
  failed: number;
  uncertain: number;
  ended: number;
  stopped: number;
  not_applied: number;
  skipped: number;
  open: number;
}

export interface Batch {
  batch_id: string;
  state: string;
  hash: string;
  author: string;
  approver: string | null;
  policy: string;
  reason: string | null;
  /** The filter that it was drafted from. */
  selection: Record<string, unknown>;
  caps: { max: number; rate_per_s: number; concurrency: number; max_duration_ms: number; new_deadline_ms: number };
  counts: BatchCounts;
  verdicts: Record<string, number>;
  canary: { size: number; ended: number; verified: number; lookups: number; vouched_by?: string };
  /** Why it is paused, stopped or expired. */
  why?: { code: string; detail: string | null };
  stopped_by?: string;
  paused_from?: string;
  created_at: string;
  checked_at: string | null;
  approved_at: string | null;
  approval_expires_at: string | null;
  began_at: string | null;
  ended_at: string | null;
  rate_now: number;
  /** 0 to 1. */
  progress: number;
}

export interface BatchItem {
  item_id: string;
  event_id: string;
  destination: string;
  organization: string | null;
  position: number;
  state: string;
  verdict: string | null;
  detail: string | null;
  letter_class: string | null;
  class: string | null;
  code: string | null;
  canary: boolean;
  /** What a lookup at the destination found. */
  found: string | null;
  lookups: number;
  duration_ms: number | null;
  sent_at: string | null;
  closed_at: string | null;
}

/** Which open dead letters a batch is about. */
export interface BatchFilter {
  destination?: string;
  class?: string;
  code?: string;
  organization?: string;
  event_ids?: string[];
}

export interface DraftRequest {
  filter: BatchFilter;
  max: number;
  /** Durations: `30s`, `15m`, `4h`. */
  new_deadline: string;
  rate_per_s: number;
  concurrency: number;
  max_duration?: string;
  canary?: number;
  reason: string;
}
