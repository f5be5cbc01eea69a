import { z } from 'zod';
import type { DeliveryState, OperationState } from '#contracts';
import type { Sql } from '#runtime';

export const historyRequest = z.object({
  items: z
    .array(z.object({ event_id: z.uuid(), destination: z.string() }))
    .min(1)
    .max(500),
  /** True: with the event's record, for whoever lacks it. */
  records: z.boolean().default(false),
});
export type HistoryRequest = z.infer<typeof historyRequest>;

export interface AttemptItem {
  operation_key: string;
  attempt_id: string;
  /** 1-indexed; a lookup bears the number of the call that it asks about. */
  number: number;
  /** ISO 8601, as all times here. */
  started_at: string;
  duration_ms?: number;
  /** Kind of the outcome, or `lookup_…`, `evidence_…`, `lease_expired`, `lease_lost`. */
  outcome: string;
  class?: string;
  code?: string;
  status?: number;
  provider_request_id?: string;
  ref?: string;
  trace_id?: string;
  /** The answer came after the lease was lost. */
  late: boolean;
}

export interface HistoryItem {
  event_id: string;
  destination: string;
  state: DeliveryState;
  class?: string;
  code?: string;
  submitted_at: string;
  deadline_at: string;
  /** Before an approved item set anew. */
  original_deadline_at?: string;
  generation: number;
  operations: { operation_key: string; kind: string; state: OperationState; ref?: string; attempts: number }[];
  /** Oldest first. */
  attempts: AttemptItem[];
  /** Base64; only where records were asked for. */
  record_key?: string;
  event?: string;
  traceparent?: string;
}

export interface HistoryAnswer {
  /** In the order of the request; what is not known here is left out. */
  items: HistoryItem[];
}

interface HistoryRow extends Omit<HistoryItem, 'operations' | 'attempts' | 'submitted_at' | 'deadline_at' | 'original_deadline_at'> {
  submitted_at: Date;
  deadline_at: Date;
  original_deadline_at: Date | null;
  operations: HistoryItem['operations'] | null;
  attempts: AttemptItem[] | null;
  record_key_bytes: Buffer | null;
  event_bytes: Buffer | null;
  first_traceparent: string | null;
}

/** References and codes only: an attempt row holds no text of a lead. A late answer stands beside the call that replaced it. */
const historySql = `
SELECT d.event_id, d.destination, d.state, d.class, d.code, d.submitted_at, d.deadline_at, d.original_deadline_at, d.generation,
  CASE WHEN $3 THEN d.record_key END AS record_key_bytes, CASE WHEN $3 THEN d.event END AS event_bytes,
  CASE WHEN $3 THEN d.traceparent END AS first_traceparent, (
    SELECT json_agg(json_strip_nulls(json_build_object('operation_key', o.operation_key, 'kind', o.kind, 'state', o.state,
      'ref', o.destination_ref, 'attempts', o.attempts)) ORDER BY k.position)
    FROM unnest(d.operation_keys) WITH ORDINALITY AS k(operation_key, position) JOIN operation o ON o.operation_key = k.operation_key
  ) AS operations, (
    SELECT json_agg(json_strip_nulls(json_build_object('operation_key', a.operation_key, 'attempt_id', a.attempt_id, 'number', a.number,
      'started_at', to_char(a.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'duration_ms', a.duration_ms,
      'outcome', a.outcome, 'class', a.class, 'code', a.code, 'status', a.status, 'provider_request_id', a.provider_request_id,
      'ref', a.destination_ref, 'trace_id', a.trace_id, 'late', a.late)) ORDER BY a.started_at, a.number)
    FROM attempt a WHERE a.operation_key = ANY (d.operation_keys)
  ) AS attempts
FROM delivery d JOIN unnest($1::uuid[], $2::text[]) AS i(event_id, destination) USING (event_id, destination)`;

/** Handler of POST /internal/v1/deliveries:history: the redacted course of deliveries, for the operator to keep. */
export function historyRoute(db: Sql): (body: HistoryRequest) => Promise<HistoryAnswer> {
  return async ({ items, records }) => {
    const asked = [...new Map(items.map((item) => [nameOf(item), item])).values()];
    const rows = await db.sql<HistoryRow>('delivery.history', historySql, [
      asked.map((item) => item.event_id),
      asked.map((item) => item.destination),
      records,
    ]);
    const byName = new Map(rows.map((row) => [nameOf(row), row]));
    return { items: items.flatMap((item) => toItem(byName.get(nameOf(item)))) };
  };
}

const nameOf = (item: { event_id: string; destination: string }): string => `${item.event_id.toLowerCase()} ${item.destination}`;

function toItem(row: HistoryRow | undefined): HistoryItem[] {
  if (row === undefined) return [];
  const { record_key_bytes, event_bytes, first_traceparent, ...stored } = row;
  const item: HistoryItem = {
    ...stored,
    class: row.class ?? undefined,
    code: row.code ?? undefined,
    submitted_at: row.submitted_at.toISOString(),
    deadline_at: row.deadline_at.toISOString(),
    original_deadline_at: row.original_deadline_at?.toISOString(),
    operations: row.operations ?? [],
    attempts: row.attempts ?? [],
    record_key: record_key_bytes?.toString('base64'),
    event: event_bytes?.toString('base64'),
    traceparent: first_traceparent ?? undefined,
  };
  return [item];
}
