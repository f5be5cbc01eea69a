import { z } from 'zod';
import type { DeliveryState, OperationState } from '#contracts';
import type { Sql } from '#runtime';
import { everyGeneration } from './sql/generations.js';

export const historyRequest = z.object({
  /** Without a destination: every delivery of the event that is known here. */
  items: z
    .array(z.object({ event_id: z.uuid(), destination: z.string().optional() }))
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
  span_id?: string;
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
  /** When it was claimed here first. */
  claimed_at?: string;
  /** When its state last changed. */
  updated_at?: string;
  /** Of the next attempt or lookup; absent: no time of its own. */
  next_attempt_at?: string;
  /** Since when a person is asked about it, while it stays uncertain. */
  raised_at?: string;
  /** Where the record lay that brought it. */
  origin?: { topic: string; partition: number; offset: string };
  operations: { operation_key: string; kind: string; state: OperationState; ref?: string; attempts: number }[];
  /** Oldest first. */
  attempts: AttemptItem[];
  /** Base64; only where records were asked for. */
  record_key?: string;
  event?: string;
  traceparent?: string;
}

export interface HistoryAnswer {
  /** In the order of the request, then of the destination's name; what is not known here is left out. */
  items: HistoryItem[];
}

type Times = 'submitted_at' | 'deadline_at' | 'original_deadline_at' | 'claimed_at' | 'updated_at' | 'next_attempt_at' | 'raised_at';

interface HistoryRow extends Omit<HistoryItem, Times | 'operations' | 'attempts' | 'origin'> {
  submitted_at: Date;
  deadline_at: Date;
  original_deadline_at: Date | null;
  claimed_at: Date;
  updated_at: Date;
  next_attempt_at: Date | null;
  raised_at: Date | null;
  origin: string | null;
  operations: HistoryItem['operations'] | null;
  attempts: AttemptItem[] | null;
  record_key_bytes: Buffer | null;
  event_bytes: Buffer | null;
  first_traceparent: string | null;
}

/** References and codes only: an attempt row holds no text of a lead. A late answer stands beside the call that replaced it. */
const historySql = `
SELECT d.event_id, d.destination, d.state, d.class, d.code, d.submitted_at, d.deadline_at, d.original_deadline_at, d.generation,
  d.claimed_at, d.updated_at, d.raised_at, d.origin, CASE WHEN isfinite(d.next_attempt_at) THEN d.next_attempt_at END AS next_attempt_at,
  CASE WHEN $3 THEN d.record_key END AS record_key_bytes, CASE WHEN $3 THEN d.event END AS event_bytes,
  CASE WHEN $3 THEN d.traceparent END AS first_traceparent, (
    SELECT json_agg(json_strip_nulls(json_build_object('operation_key', o.operation_key, 'kind', o.kind, 'state', o.state,
      'ref', o.destination_ref, 'attempts', o.attempts)) ORDER BY k.position)
    FROM unnest(d.operation_keys) WITH ORDINALITY AS k(operation_key, position) JOIN operation o ON o.operation_key = k.operation_key
  ) AS operations, (
    SELECT json_agg(json_strip_nulls(json_build_object('operation_key', a.operation_key, 'attempt_id', a.attempt_id, 'number', a.number,
      'started_at', to_char(a.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'duration_ms', a.duration_ms,
      'outcome', a.outcome, 'class', a.class, 'code', a.code, 'status', a.status, 'provider_request_id', a.provider_request_id,
      'ref', a.destination_ref, 'trace_id', a.trace_id, 'span_id', a.span_id, 'late', a.late)) ORDER BY a.started_at, a.number)
    FROM attempt a WHERE a.operation_key = ANY (${everyGeneration('d')})
  ) AS attempts
FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS i(event_id, destination, position)
  JOIN delivery d ON d.event_id = i.event_id AND (i.destination IS NULL OR d.destination = i.destination)
ORDER BY i.position, d.destination`;

/** Handler of POST /internal/v1/deliveries:history: the redacted course of deliveries, for the operator to keep. */
export function historyRoute(db: Sql): (body: HistoryRequest) => Promise<HistoryAnswer> {
  return async ({ items, records }) => {
    const asked = [...new Map(items.map((item) => [nameOf(item), item])).values()];
    const rows = await db.sql<HistoryRow>('delivery.history', historySql, [
      asked.map((item) => item.event_id),
      asked.map((item) => item.destination ?? null),
      records,
    ]);
    const byName = groupByName(rows);
    return { items: items.flatMap((item) => byName.get(nameOf(item)) ?? []) };
  };
}

const nameOf = (item: { event_id: string; destination?: string }): string => `${item.event_id.toLowerCase()} ${item.destination ?? ''}`;

/** Each delivery under its own name, and under the event alone. */
function groupByName(rows: readonly HistoryRow[]): Map<string, HistoryItem[]> {
  const byName = new Map<string, HistoryItem[]>();
  for (const row of rows) {
    const item = toItem(row);
    byName.set(nameOf(row), [item]);
    const event = nameOf({ event_id: row.event_id });
    const known = byName.get(event) ?? [];
    if (!known.some(({ destination }) => destination === row.destination)) byName.set(event, [...known, item]);
  }
  return byName;
}

function toItem(row: HistoryRow): HistoryItem {
  const { record_key_bytes, event_bytes, first_traceparent, ...stored } = row;
  return {
    ...stored,
    class: row.class ?? undefined,
    code: row.code ?? undefined,
    submitted_at: row.submitted_at.toISOString(),
    deadline_at: row.deadline_at.toISOString(),
    original_deadline_at: row.original_deadline_at?.toISOString(),
    claimed_at: row.claimed_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    next_attempt_at: row.next_attempt_at?.toISOString(),
    raised_at: row.raised_at?.toISOString(),
    origin: originFrom(row.origin),
    operations: row.operations ?? [],
    attempts: row.attempts ?? [],
    record_key: record_key_bytes?.toString('base64'),
    event: event_bytes?.toString('base64'),
    traceparent: first_traceparent ?? undefined,
  };
}

/** `lead.accepted/3/77` as a topic, a partition and an offset: no topic has a slash in its name. */
function originFrom(text: string | null): HistoryItem['origin'] {
  const [topic, partition, offset] = text?.split('/') ?? [];
  return topic === undefined || partition === undefined || offset === undefined
    ? undefined
    : { topic, partition: Number(partition), offset };
}
