import { z } from 'zod';
import type { DeliveryState } from '#contracts';
import type { Sql } from '#runtime';

export const replayItemsRequest = z.object({
  items: z
    .array(z.object({ item_id: z.uuid(), event_id: z.uuid(), destination: z.string().min(1).max(512) }))
    .min(1)
    .max(500),
});
export type ReplayItemsRequest = z.infer<typeof replayItemsRequest>;

/** What became of one approved item at the service that owns its delivery. */
export interface ReplayItemState {
  item_id: string;
  /** The delivery took this very item. What `state` says is then its result, once it is final. */
  applied: boolean;
  /** It was closed before it was applied: it never will be. */
  closed: boolean;
  /** Of the delivery now; absent: it is not known here, so nothing can be applied. */
  state?: DeliveryState;
  class?: string;
  code?: string;
  /** `uncertain` for so long that its owner was told: nothing more happens by itself. */
  raised: boolean;
  /** Reference at the destination by operation kind. */
  refs: Record<string, string>;
  /** Of the last call of the delivery. */
  duration_ms?: number;
}

export interface ReplayItemsAnswer {
  /** In the order of the request. */
  items: ReplayItemState[];
}

interface ItemRow {
  item_id: string;
  applied: boolean;
  closed: boolean;
  state: DeliveryState | null;
  class: string | null;
  code: string | null;
  raised: boolean;
  refs: Record<string, string> | null;
  duration_ms: number | null;
}

const inputSql = 'unnest($1::uuid[], $2::uuid[], $3::text[]) WITH ORDINALITY AS i(item_id, event_id, destination, position)';

const stateSql = `
SELECT i.item_id, coalesce(d.replay_item = i.item_id, false) AS applied, coalesce(i.item_id = ANY (d.closed_items), false) AS closed,
  d.state, d.class, d.code, d.raised_at IS NOT NULL AS raised, o.refs, o.duration_ms
FROM ${inputSql} LEFT JOIN delivery d ON d.event_id = i.event_id AND d.destination = i.destination
LEFT JOIN LATERAL (
  SELECT json_object_agg(o.kind, o.destination_ref) FILTER (WHERE o.destination_ref IS NOT NULL) AS refs, (
    SELECT a.duration_ms FROM attempt a WHERE a.operation_key = ANY (d.operation_keys) AND a.outcome NOT LIKE 'lookup%'
    ORDER BY a.started_at DESC LIMIT 1) AS duration_ms
  FROM operation o WHERE o.operation_key = ANY (d.operation_keys)
) o ON true
ORDER BY i.position`;

/** Rows in the order of their key, like every statement that locks several. A claim that waits for the row looks at it again, and finds the item closed. */
const closeSql = `
WITH locked AS MATERIALIZED (
  SELECT d.event_id, d.destination, i.item_id FROM ${inputSql} JOIN delivery d ON d.event_id = i.event_id AND d.destination = i.destination
  ORDER BY d.event_id, d.destination FOR UPDATE OF d
)
UPDATE delivery d SET closed_items = array_append(d.closed_items, l.item_id) FROM locked l
WHERE d.event_id = l.event_id AND d.destination = l.destination AND d.replay_item IS DISTINCT FROM l.item_id
  AND NOT l.item_id = ANY (d.closed_items)`;

const valuesOf = ({ items }: ReplayItemsRequest): unknown[] => [
  items.map(({ item_id }) => item_id),
  items.map(({ event_id }) => event_id),
  items.map(({ destination }) => destination),
];

/** Handler of POST /internal/v1/replay-items:state: what each item came to, by the item's own id. */
export function replayItemsRoute(db: Sql): (body: ReplayItemsRequest) => Promise<ReplayItemsAnswer> {
  return async (body) => ({ items: (await db.sql<ItemRow>('delivery.replay_items', stateSql, valuesOf(body))).map(toState) });
}

/**
 * Handler of POST /internal/v1/replay-items:close: from now on none of the items is applied, whatever record of it still comes; one that was
 * applied before is not changed. The answer says which is which.
 */
export function closeItemsRoute(db: Sql): (body: ReplayItemsRequest) => Promise<ReplayItemsAnswer> {
  const states = replayItemsRoute(db);
  return async (body) => {
    await db.sql('delivery.close_items', closeSql, valuesOf(body));
    return states(body);
  };
}

function toState({ state, class: failure, code, refs, duration_ms, ...row }: ItemRow): ReplayItemState {
  return {
    ...row,
    state: state ?? undefined,
    class: failure ?? undefined,
    code: code ?? undefined,
    refs: refs ?? {},
    duration_ms: duration_ms ?? undefined,
  };
}
