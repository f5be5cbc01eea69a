import { z } from 'zod';
import { type FailurePolicy, failurePolicies } from '#contracts';
import type { HistoryItem } from '#delivery';

const text = z.string().nullable();
const time = z.date().nullable();

/** A dead letter as it is shown: references only. */
export const letterItem = z.object({
  dead_letter_id: z.string(),
  state: z.string(),
  closed_as: text,
  closed_at: time,
  service: z.string(),
  event_id: text,
  destination: text,
  lead_ref: text,
  organization: text,
  source: text,
  form: text,
  campaign: text,
  submission_ref: text,
  test: z.boolean(),
  operation_key: text,
  operation_kind: text,
  endpoint: text,
  class: z.string(),
  code: text,
  status: z.number().nullable(),
  schema_id: z.number().nullable(),
  reference: text,
  attempts: z.number(),
  provider_request_id: text,
  trace_id: text,
  submitted_at: time,
  first_seen_at: time,
  deadline_at: time,
  dead_at: z.date(),
  received_at: z.date(),
  owner: z.string(),
  assignee: text,
  disposition: z.string(),
  respond_by: z.date(),
  delete_after: z.date(),
  found_by: z.string(),
  group_key: z.string(),
  age_ms: z.number().describe('Since the lead was submitted, as far as that is known.'),
  retention_ms_left: z.number().describe('Until it is deleted, once it is closed.'),
  note_count: z.number(),
  next_action: z.string().optional().describe('What to do next.'),
  runbook: z.string().optional().describe('The page that says how.'),
});
export type DeadLetterItem = z.infer<typeof letterItem>;

const anyObject = z.record(z.string(), z.unknown());
export const letterDetail = letterItem.extend({
  operations: z.array(anyObject) as unknown as z.ZodType<HistoryItem['operations']>,
  history: z.array(anyObject) as unknown as z.ZodType<HistoryItem['attempts']>,
  /** Where its record lies on the dead-letter topic, and where it lay first. */
  topic: text,
  partition: z.number().nullable(),
  record_offset: text,
  origin_topic: text,
  origin_partition: z.number().nullable(),
  origin_offset: text,
});
export type DeadLetterDetail = z.infer<typeof letterDetail>;

const milliseconds = (interval: string): string => `floor(extract(epoch FROM ${interval}) * 1000)::float8`;

/** Of `dead_letter`, beside `clock` with its column `now`. */
export const itemColumns = `dead_letter_id, state, closed_as, closed_at, service, event_id, destination, lead_ref, organization, source, form, campaign,
  submission_ref, test, operation_key, operation_kind, endpoint, class, code, status, schema_id, reference, attempts, provider_request_id,
  split_part(traceparent, '-', 2) AS trace_id, submitted_at, first_seen_at, deadline_at, dead_at, received_at, owner, assignee, disposition,
  respond_by, delete_after, found_by, group_key, ${milliseconds('now - age_from')} AS age_ms,
  greatest(0, ${milliseconds('delete_after - now')}) AS retention_ms_left,
  (SELECT count(*)::int FROM letter_note n WHERE n.dead_letter_id = dead_letter.dead_letter_id) AS note_count`;

export const detailColumns = `${itemColumns}, operations, history, topic, partition, record_offset, origin_topic, origin_partition, origin_offset`;

/** What a failure class says is to be done. */
export function adviceOf(failure: string): { next_action?: string; runbook?: string } {
  const policy = (failurePolicies as Readonly<Record<string, FailurePolicy>>)[failure];
  return policy === undefined ? {} : { next_action: policy.nextAction, runbook: policy.runbook };
}

export function withAdvice<T extends DeadLetterItem>(item: T): T {
  return { ...item, ...adviceOf(item.class) };
}
