import { z } from 'zod';
import type { DeliveryState } from '#contracts';
import type { Sql } from '#runtime';
import type { DestinationItem } from '../destination/index.js';
import { blockedDestinations, gateColumn, heldRows } from './blocked-rows.js';

/** Asks for a page of open deliveries. */
export const waitingRequest = z.strictObject({
  destination: z.string().min(1).max(512).optional(),
  /** Position of the last item of the page before. */
  after: z
    .strictObject({ submitted_us: z.string().regex(/^-?\d{1,18}$/), event_id: z.uuid(), destination: z.string().max(512) })
    .optional(),
  /** The other way round: the shortest submitted first. */
  newest: z.boolean().default(false),
  limit: z.int().min(1).max(200).default(50),
});
export type WaitingRequest = z.infer<typeof waitingRequest>;

/** A delivery that is not sent because of its destination, or of which nobody knows whether it was written. Times are ISO 8601. */
export interface WaitingItem {
  event_id: string;
  destination: string;
  /** `held`, or `waiting`/`pending` for a destination that nothing is sent to; or `uncertain`. */
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

/** A delivery as {@link openPage} reads it. */
export interface OpenRow
  extends Omit<WaitingItem, 'submitted_at' | 'deadline_at' | 'next_attempt_at' | 'event' | 'class' | 'code' | 'reason' | 'hold'> {
  gate: string;
  class: string | null;
  code: string | null;
  submitted_at: Date;
  deadline_at: Date;
  next_attempt_at: Date | null;
  event: Buffer;
}

interface Rows {
  /** Of the statement. */
  name: string;
  /** Condition on `delivery`. */
  rows: string;
  /** Of the condition's parameters. */
  values: unknown[];
}

/** The page is found by narrow columns; records are read for it alone. */
function pageSql(rows: string, newest: boolean): string {
  const [beyond, direction] = newest ? ['<', ' DESC'] : ['>', ''];
  const order = (of = ''): string =>
    ['submitted_at', 'event_id', 'destination COLLATE "C"'].map((column) => `${of}${column}${direction}`).join(', ');
  return `
WITH page AS (
  SELECT event_id, destination FROM delivery
  WHERE ${rows} AND ($1::text IS NULL OR destination = $1)
    AND ($2::bigint IS NULL OR (submitted_at, event_id, destination COLLATE "C") ${beyond} (to_timestamp(0) + $2::bigint * interval '1 microsecond', $3::uuid, $4::text))
  ORDER BY ${order()} LIMIT $5)
SELECT d.event_id, d.destination, ${gateColumn.replaceAll('destination', 'd.destination')} AS gate, d.state, d.class, d.code, d.lead_ref, d.test,
  d.submitted_at, (extract(epoch FROM d.submitted_at) * 1000000)::bigint::text AS submitted_us, d.deadline_at, d.next_attempt_at, d.event,
  (SELECT coalesce(max(o.attempts), 0)::int FROM operation o WHERE o.operation_key = ANY (d.operation_keys)) AS attempts
FROM page JOIN delivery d USING (event_id, destination) ORDER BY ${order('d.')}`;
}

/** A page of the deliveries that a condition takes. Its parameters count from `$6`. */
export async function openPage(
  db: Sql,
  { name, rows, values }: Rows,
  { destination, after, newest, limit }: WaitingRequest,
): Promise<OpenRow[]> {
  const place = [after?.submitted_us ?? null, after?.event_id ?? null, after?.destination ?? null];
  const statement = newest ? `${name}_newest` : name;
  return db.sql<OpenRow>(statement, pageSql(rows, newest), [destination ?? null, ...place, limit, ...values]);
}

/** Handler of POST /internal/v1/deliveries:waiting: what is not sent because of its destination, the longest submitted first. */
export function waitingRoute(db: Sql): (body: WaitingRequest) => Promise<WaitingAnswer> {
  return async (request) => {
    const blocked = await blockedDestinations(db);
    const held = { name: 'delivery.waiting_page', rows: heldRows('$6'), values: [[...blocked.keys()]] };
    const rows = await openPage(db, held, request);
    return { items: rows.map((row) => toWaitingItem(row, blocked.get(row.gate))) };
  };
}

/** As it is told; with why nothing is sent, where that is so. */
export function toWaitingItem({ gate: _, ...row }: OpenRow, { reason, hold, open_until }: Partial<DestinationItem> = {}): WaitingItem {
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

const groupsSql = (rows: string): string => `
SELECT ${gateColumn} AS destination, class, code, count(*)::int AS count, min(submitted_at) AS first_at, max(submitted_at) AS last_at,
  min(deadline_at) AS deadline_at, (count(*) FILTER (WHERE deadline_at < (SELECT clock_now())))::int AS overdue,
  (array_agg(event_id::text))[1:3] AS sample_event_ids
FROM delivery WHERE ${rows} GROUP BY 1, 2, 3 ORDER BY count DESC LIMIT 500`;

/** The deliveries that a condition takes, by destination, class and code. Its parameters count from `$1`. */
export async function openGroups(db: Sql, { name, rows, values }: Rows): Promise<WaitingGroup[]> {
  const groups = await db.sql<GroupRow>(name, groupsSql(rows), values);
  return groups.map((row) => ({
    ...row,
    class: row.class ?? undefined,
    code: row.code ?? undefined,
    first_at: row.first_at.toISOString(),
    last_at: row.last_at.toISOString(),
    deadline_at: row.deadline_at.toISOString(),
  }));
}

/** Handler of POST /internal/v1/deliveries:waiting-groups: the same by destination, class and code, the largest groups first. */
export function waitingGroupsRoute(db: Sql): () => Promise<WaitingGroupsAnswer> {
  return async () => {
    const blocked = await blockedDestinations(db);
    const held = { name: 'delivery.waiting_groups', rows: heldRows('$1'), values: [[...blocked.keys()]] };
    const groups = await openGroups(db, held);
    return { items: groups.map((group) => ({ ...group, reason: blocked.get(group.destination)?.reason })) };
  };
}
