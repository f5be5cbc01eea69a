import { z } from 'zod';
import type { DeliveryState } from '#contracts';
import type { Sql } from '#runtime';
import { blockedDestinations, gateColumn, heldRows } from './blocked-rows.js';

export const waitingRequest = z.strictObject({
  destination: z.string().min(1).max(512).optional(),
  /** Position of the last item of the page before. */
  after: z
    .strictObject({ submitted_us: z.string().regex(/^-?\d{1,18}$/), event_id: z.uuid(), destination: z.string().max(512) })
    .optional(),
  limit: z.int().min(1).max(200).default(50),
});
export type WaitingRequest = z.infer<typeof waitingRequest>;

/** A delivery that is not sent because of its destination. Times are ISO 8601. */
export interface WaitingItem {
  event_id: string;
  destination: string;
  /** `held`, or `waiting`/`pending` for a destination that nothing is sent to. */
  state: DeliveryState;
  class?: string;
  code?: string;
  lead_ref: string;
  test: boolean;
  attempts: number;
  submitted_at: string;
  /** The same in microseconds since 1970, for `after`. */
  submitted_us: string;
  deadline_at: string;
  next_attempt_at?: string;
  /** Why nothing is sent: a hold by a person, or the destination's own trouble. */
  reason?: string;
  hold?: { by: string; reason: string; at: string };
  open_until?: string;
  /** Record of the event, base64: who the lead is of stands in it. */
  event: string;
}

export interface WaitingAnswer {
  items: WaitingItem[];
}

interface Row
  extends Omit<WaitingItem, 'submitted_at' | 'deadline_at' | 'next_attempt_at' | 'event' | 'class' | 'code' | 'reason' | 'hold'> {
  gate: string;
  class: string | null;
  code: string | null;
  submitted_at: Date;
  deadline_at: Date;
  next_attempt_at: Date | null;
  event: Buffer;
}

/** The page is found by narrow columns; records are read for it alone. */
const waitingSql = `
WITH page AS (
  SELECT event_id, destination FROM delivery
  WHERE ${heldRows('$1')} AND ($2::text IS NULL OR destination = $2)
    AND ($3::bigint IS NULL OR (submitted_at, event_id, destination COLLATE "C") > (to_timestamp(0) + $3::bigint * interval '1 microsecond', $4::uuid, $5::text))
  ORDER BY submitted_at, event_id, destination COLLATE "C" LIMIT $6)
SELECT d.event_id, d.destination, ${gateColumn.replaceAll('destination', 'd.destination')} AS gate, d.state, d.class, d.code, d.lead_ref, d.test,
  d.submitted_at, (extract(epoch FROM d.submitted_at) * 1000000)::bigint::text AS submitted_us, d.deadline_at, d.next_attempt_at, d.event,
  (SELECT coalesce(max(o.attempts), 0)::int FROM operation o WHERE o.operation_key = ANY (d.operation_keys)) AS attempts
FROM page JOIN delivery d USING (event_id, destination) ORDER BY d.submitted_at, d.event_id, d.destination COLLATE "C"`;

/** Handler of POST /internal/v1/deliveries:waiting: what is not sent because of its destination, the longest submitted first. */
export function waitingRoute(db: Sql): (body: WaitingRequest) => Promise<WaitingAnswer> {
  return async ({ destination = null, after, limit }) => {
    const blocked = await blockedDestinations(db);
    const values = [
      [...blocked.keys()],
      destination,
      after?.submitted_us ?? null,
      after?.event_id ?? null,
      after?.destination ?? null,
      limit,
    ];
    const rows = await db.sql<Row>('delivery.waiting_page', waitingSql, values);
    return { items: rows.map((row) => toItem(row, blocked)) };
  };
}

function toItem({ gate, ...row }: Row, blocked: Awaited<ReturnType<typeof blockedDestinations>>): WaitingItem {
  const { reason, hold, open_until } = blocked.get(gate) ?? {};
  return {
    ...row,
    class: row.class ?? undefined,
    code: row.code ?? undefined,
    submitted_at: row.submitted_at.toISOString(),
    deadline_at: row.deadline_at.toISOString(),
    next_attempt_at: row.next_attempt_at?.toISOString(),
    reason,
    hold,
    open_until,
    event: row.event.toString('base64'),
  };
}

export interface WaitingGroup {
  /** A destination, or the channel of notifications. */
  destination: string;
  class?: string;
  code?: string;
  count: number;
  /** Of the lead that was submitted first, and last; ISO 8601. */
  first_at: string;
  last_at: string;
  /** The first to pass; ISO 8601. */
  deadline_at: string;
  /** Whose deadline has passed: they end as expired. */
  overdue: number;
  reason?: string;
  sample_event_ids: string[];
}

export interface WaitingGroupsAnswer {
  items: WaitingGroup[];
}

interface GroupRow extends Omit<WaitingGroup, 'class' | 'code' | 'first_at' | 'last_at' | 'deadline_at' | 'reason'> {
  class: string | null;
  code: string | null;
  first_at: Date;
  last_at: Date;
  deadline_at: Date;
}

const groupsSql = `
SELECT ${gateColumn} AS destination, class, code, count(*)::int AS count, min(submitted_at) AS first_at, max(submitted_at) AS last_at,
  min(deadline_at) AS deadline_at, (count(*) FILTER (WHERE deadline_at < (SELECT clock_now())))::int AS overdue,
  (array_agg(event_id::text))[1:3] AS sample_event_ids
FROM delivery WHERE ${heldRows('$1')} GROUP BY 1, 2, 3 ORDER BY count DESC LIMIT 500`;

/** Handler of POST /internal/v1/deliveries:waiting-groups: the same by destination, class and code, the largest groups first. */
export function waitingGroupsRoute(db: Sql): () => Promise<WaitingGroupsAnswer> {
  return async () => {
    const blocked = await blockedDestinations(db);
    const rows = await db.sql<GroupRow>('delivery.waiting_groups', groupsSql, [[...blocked.keys()]]);
    const items = rows.map((row) => ({
      ...row,
      class: row.class ?? undefined,
      code: row.code ?? undefined,
      first_at: row.first_at.toISOString(),
      last_at: row.last_at.toISOString(),
      deadline_at: row.deadline_at.toISOString(),
      reason: blocked.get(row.destination)?.reason,
    }));
    return { items };
  };
}
