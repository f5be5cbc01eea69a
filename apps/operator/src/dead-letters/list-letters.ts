import { z } from 'zod';
import { type FailurePolicy, failurePolicies } from '#contracts';
import type { HistoryItem } from '#delivery';
import type { Sql } from '#runtime';

const shortText = z.string().min(1).max(512);

export const listRequest = z.strictObject({
  destination: shortText.optional(),
  class: shortText.optional(),
  /** Default: open; where leads are named, any. */
  state: z.enum(['open', 'closed', 'any']).optional(),
  event_ids: z.array(z.uuid()).min(1).max(200).optional(),
  /** `next` of the page before. */
  after: z.uuid().optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});
export type ListRequest = z.infer<typeof listRequest>;

export const showRequest = z.strictObject({ event_id: z.uuid() });

export interface DeadLetterItem {
  dead_letter_id: string;
  state: string;
  closed_as: string | null;
  closed_at: Date | null;
  service: string;
  event_id: string | null;
  destination: string | null;
  lead_ref: string | null;
  organization: string | null;
  source: string | null;
  form: string | null;
  campaign: string | null;
  submission_ref: string | null;
  test: boolean;
  operation_key: string | null;
  operation_kind: string | null;
  endpoint: string | null;
  class: string;
  code: string | null;
  status: number | null;
  reference: string | null;
  attempts: number;
  provider_request_id: string | null;
  trace_id: string | null;
  submitted_at: Date | null;
  first_seen_at: Date | null;
  deadline_at: Date | null;
  dead_at: Date;
  received_at: Date;
  owner: string;
  disposition: string;
  respond_by: Date;
  delete_after: Date;
  found_by: string;
  /** What to do next, and the page that says how. */
  next_action?: string;
  runbook?: string;
}

export interface DeadLetterDetail extends DeadLetterItem {
  operations: HistoryItem['operations'];
  history: HistoryItem['attempts'];
  /** Where its record lies on the dead-letter topic, and where it lay first. */
  topic: string | null;
  partition: number | null;
  record_offset: string | null;
  origin_topic: string | null;
  origin_partition: number | null;
  origin_offset: string | null;
}

const columns = `dead_letter_id, state, closed_as, closed_at, service, event_id, destination, lead_ref, organization, source, form, campaign,
  submission_ref, test, operation_key, operation_kind, endpoint, class, code, status, reference, attempts, provider_request_id,
  split_part(traceparent, '-', 2) AS trace_id, submitted_at, first_seen_at, deadline_at, dead_at, received_at, owner, disposition, respond_by,
  delete_after, found_by`;

const listSql = `
SELECT ${columns} FROM dead_letter
WHERE ($1 = 'any' OR state = $1) AND ($2::text IS NULL OR destination = $2) AND ($3::text IS NULL OR class = $3) AND ($4::uuid IS NULL OR dead_letter_id > $4)
  AND ($6::uuid[] IS NULL OR event_id = ANY ($6))
ORDER BY dead_letter_id LIMIT $5`;

const showSql = `
SELECT ${columns}, operations, history, topic, partition, record_offset, origin_topic, origin_partition, origin_offset
FROM dead_letter WHERE event_id = $1 ORDER BY dead_letter_id`;

export interface DeadLetterPage {
  items: DeadLetterItem[];
  /** To be given as `after`; absent on the last page. */
  next?: string;
}

/** Dead letters in the order in which they came. */
export async function listLetters(db: Sql, request: ListRequest): Promise<DeadLetterPage> {
  const { destination = null, class: failure = null, event_ids = null, after = null, limit } = request;
  const state = request.state ?? (event_ids === null ? 'open' : 'any');
  const items = await db.sql<DeadLetterItem>('operator.list_letters', listSql, [state, destination, failure, after, limit, event_ids]);
  return { items: items.map(withAdvice), ...(items.length === limit && { next: items.at(-1)?.dead_letter_id }) };
}

/** Every dead letter of one lead, whole. */
export async function showLetters(db: Sql, eventId: string): Promise<{ items: DeadLetterDetail[] }> {
  const items = await db.sql<DeadLetterDetail>('operator.show_letters', showSql, [eventId]);
  return { items: items.map(withAdvice) };
}

function withAdvice<T extends DeadLetterItem>(item: T): T {
  const policy = (failurePolicies as Readonly<Record<string, FailurePolicy>>)[item.class];
  return policy === undefined ? item : { ...item, next_action: policy.nextAction, runbook: policy.runbook };
}
