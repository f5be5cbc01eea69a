import type { Discrepancy, DiscrepancyAspect, DiscrepancyClass, DiscrepancyState, RepairKind, Urgency } from '#delivery';
import { policyOf } from '../compare/next-steps.js';

export interface DiscrepancyRow {
  discrepancy_id: string;
  destination: string;
  organization: string | null;
  event_id: string | null;
  lead_ref: string | null;
  kind: string | null;
  operation_key: string | null;
  ref: string | null;
  class: DiscrepancyClass;
  aspect: DiscrepancyAspect | null;
  fields: string[];
  evidence: Discrepancy['evidence'];
  urgency: Urgency;
  owner: string;
  repair: RepairKind | null;
  state: DiscrepancyState;
  first_run_id: string;
  last_run_id: string;
  first_seen_at: Date;
  first_seen_us: string;
  last_seen_at: Date;
  by_whom: string | null;
  approver: string | null;
  item_id: string | null;
  result: string | null;
  reason: string | null;
}

export const discrepancyColumns = `discrepancy_id, destination, organization, event_id, lead_ref, kind, operation_key, ref, class, aspect, fields,
  evidence, urgency, owner, repair, state, first_run_id, last_run_id, first_seen_at, last_seen_at, by_whom, approver, item_id, result, reason,
  (extract(epoch FROM first_seen_at) * 1000000)::bigint::text AS first_seen_us`;

export function toDiscrepancy(row: DiscrepancyRow): Discrepancy {
  const { first_seen_us: _, first_seen_at, last_seen_at, by_whom, ...stored } = row;
  const item = {
    ...stored,
    next_step: policyOf(row.class, row.aspect ?? undefined).nextStep,
    first_seen_at: first_seen_at.toISOString(),
    last_seen_at: last_seen_at.toISOString(),
    by: by_whom,
  };
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null)) as unknown as Discrepancy;
}
