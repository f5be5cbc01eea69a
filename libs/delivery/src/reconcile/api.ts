import { z } from 'zod';
import type { ReceivedDay } from '../balance/received.js';

/** What a comparison may find. */
export const discrepancyClasses = [
  'missing',
  'deleted',
  'duplicate',
  'content_conflict',
  'late',
  'orphan',
  'possible_manual_twin',
  'told_nobody',
  'relationship',
  'dead_end',
] as const;
/**
 * - `missing`: absent in two looks a search lag apart; `deleted`: it was seen there, and is gone
 * - `content_conflict`: aspect `value`, `status`, `version` or `human_change`
 * - `late`: there, although we had given it up or not sent it; `orphan`: there under an id like ours that was never accepted
 * - `relationship`: aspect `delivered_without_reference`, `succeeded_without_attempt`, `assigned_without_owner`, `wrong_contact` or `told_late`
 * - `dead_end`: aspect `without_letter` or `letter_without_state`
 */
export type DiscrepancyClass = (typeof discrepancyClasses)[number];

export const discrepancyAspects = [
  'value',
  'status',
  'version',
  'human_change',
  'delivered_without_reference',
  'succeeded_without_attempt',
  'assigned_without_owner',
  'wrong_contact',
  'told_late',
  'without_letter',
  'letter_without_state',
] as const;
export type DiscrepancyAspect = (typeof discrepancyAspects)[number];

export const discrepancyStates = ['open', 'repairing', 'repaired', 'repair_failed', 'accepted', 'gone'] as const;
export type DiscrepancyState = (typeof discrepancyStates)[number];
export type Urgency = 'high' | 'normal' | 'low';
/** What an approved item may do about it; absent: a person decides at the destination. */
export type RepairKind = 'create' | 'update' | 'tell';

/** One thing that differs. Fields by name alone, never a value of theirs or ours. Times are ISO 8601. */
export interface Discrepancy {
  discrepancy_id: string;
  destination: string;
  organization?: string;
  event_id?: string;
  lead_ref?: string;
  kind?: string;
  operation_key?: string;
  /** The destination's id of the record. */
  ref?: string;
  class: DiscrepancyClass;
  aspect?: DiscrepancyAspect;
  fields: string[];
  /** References, states and times; no personal values. */
  evidence: Record<string, string | number | boolean | string[]>;
  urgency: Urgency;
  owner: string;
  next_step: string;
  repair?: RepairKind;
  state: DiscrepancyState;
  first_run_id: string;
  last_run_id: string;
  first_seen_at: string;
  last_seen_at: string;
  by?: string;
  approver?: string;
  item_id?: string;
  result?: string;
  reason?: string;
}

export const runStates = ['waiting', 'running', 'finished', 'stopped', 'failed'] as const;
export type RunState = (typeof runStates)[number];

export interface ReconcileRun {
  run_id: string;
  destination: string;
  from: string;
  to: string;
  filter: { form?: string; campaign?: string; outcome?: string };
  state: RunState;
  by: string;
  /** Why it failed, was stopped, or waits at the moment. */
  reason?: string;
  /** `compared` leads; `unconfirmed`: absent once, to be looked for again by a later run; then by class. */
  counts: { compared: number; unconfirmed: number } & Partial<Record<DiscrepancyClass, number>>;
  /** Calls of the destination. */
  calls: number;
  created_at: string;
  started_at?: string;
  finished_at?: string;
  /** How often another process took it on. */
  resumed: number;
}

const person = z.string().min(1).max(200);
const window = { from: z.iso.datetime(), to: z.iso.datetime() };
const limit = z.int().min(1).max(500).default(100);
const after = z.string().max(600).optional();
const ids = z.array(z.uuid()).min(1).max(500).optional();

export const startRunRequest = z.object({
  destination: z.string().min(1),
  ...window,
  form: z.string().optional(),
  campaign: z.string().optional(),
  outcome: z.string().optional(),
  by: person,
});
export type StartRunRequest = z.input<typeof startRunRequest>;
/** `refused`: why there is no such run. */
export type StartRunAnswer = { run_id: string } | { refused: 'unknown_destination' | 'not_comparable' | 'empty_window' };

export const listRunsRequest = z.object({
  destination: z.string().optional(),
  state: z.enum(runStates).optional(),
  ids,
  after,
  limit,
});
export type ListRunsRequest = z.input<typeof listRunsRequest>;
/** Newest first. */
export interface ListRunsAnswer {
  items: ReconcileRun[];
  next?: string;
}

export const stopRunRequest = z.object({ run_id: z.uuid(), by: person });
export type StopRunRequest = z.input<typeof stopRunRequest>;
/** False: it had ended, or there is none. */
export interface StopRunAnswer {
  stopped: boolean;
}

export const listDiscrepanciesRequest = z.object({
  ids,
  event_ids: ids,
  run_id: z.uuid().optional(),
  class: z.enum(discrepancyClasses).optional(),
  destination: z.string().optional(),
  /** One state, or several. */
  state: z.union([z.enum(discrepancyStates), z.array(z.enum(discrepancyStates)).min(1)]).optional(),
  owner: z.string().optional(),
  /** Of these alone, and of those that belong to none. */
  organizations: z.array(z.string()).optional(),
  after,
  limit,
});
export type ListDiscrepanciesRequest = z.input<typeof listDiscrepanciesRequest>;
/** Oldest first. */
export interface ListDiscrepanciesAnswer {
  items: Discrepancy[];
  next?: string;
}

export const settleRequest = z.object({
  items: z
    .array(
      z.object({
        discrepancy_id: z.uuid(),
        state: z.enum(['repairing', 'repaired', 'repair_failed', 'accepted']),
        by: person,
        approver: person.optional(),
        item_id: z.string().max(200).optional(),
        result: z.string().max(200).optional(),
        reason: z.string().max(1_000).optional(),
      }),
    )
    .min(1)
    .max(500),
});
export type SettleRequest = z.input<typeof settleRequest>;
/** In the order asked: the discrepancy as it is now; null where there is none. `settled` false: its state does not allow it. */
export interface SettleAnswer {
  items: ({ discrepancy_id: string; settled: boolean; state: DiscrepancyState } | null)[];
}

const day = z.iso.date();
/** Days (UTC) of acceptance, both inclusive. */
export const listBalancesRequest = z.object({ from: day, to: day, source: z.string().optional(), destination: z.string().optional() });
export type ListBalancesRequest = z.input<typeof listBalancesRequest>;

/** What was accepted on a day from a source for a destination, and where it was found. */
export interface BalanceDay {
  day: string;
  organization: string;
  source: string;
  destination: string;
  accepted: number;
  /** By state, and by place where no owner has it. */
  found: Record<string, number>;
  missing: number;
  incomplete: number;
  balanced: boolean;
  /** Every delivery of the day is final: it is not counted again. */
  closed: boolean;
  taken_at: string;
}

export interface ListBalancesAnswer {
  items: BalanceDay[];
  /** What came in, per source: of days that were seen. */
  received: ReceivedDay[];
}

export const deadEndsRequest = z.object({ after, limit });
export type DeadEndsRequest = z.input<typeof deadEndsRequest>;
