import { z } from 'zod';
import type { DeliveryState, OperationState } from '#contracts';
import type { Sql } from '#runtime';

export const statesRequest = z.object({
  items: z
    .array(z.object({ event_id: z.uuid(), destination: z.string().optional() }))
    .min(1)
    .max(500),
});
export type StatesRequest = z.infer<typeof statesRequest>;

export interface OperationStateItem {
  kind: string;
  state: OperationState;
  ref?: string;
  operation_key: string;
  attempts: number;
}

export interface DeliveryStateItem {
  destination: string;
  state: DeliveryState;
  class?: string;
  code?: string;
  /** 1, and one more after each approved repair. */
  generation: number;
  /** ISO 8601, as all times here. */
  deadline_at: string;
  /** Of the next attempt or lookup; absent: no time of its own. */
  next_attempt_at?: string;
  /** The database's clock. */
  as_of: string;
  /** Its operations are those it declared. False: some are gone, and what became of them is not known. */
  complete: boolean;
  operations: OperationStateItem[];
}

export interface StatesAnswer {
  /** In the order of the request; an event without any delivery here has an empty list. */
  items: { event_id: string; deliveries: DeliveryStateItem[] }[];
}

interface StateRow {
  event_id: string;
  destination: string;
  state: DeliveryState;
  class: string | null;
  code: string | null;
  generation: number;
  deadline_at: Date;
  next_attempt_at: Date | null;
  as_of: Date;
  declared: number;
  operations: { kind: string; state: OperationState; ref: string | null; operation_key: string; attempts: number }[] | null;
}

/** A delivery's declared operations are named by itself, so one that is missing shows as missing. */
const statesSql = `
SELECT d.event_id, d.destination, d.state, d.class, d.code, d.generation, d.deadline_at, cardinality(d.operation_keys) AS declared,
  CASE WHEN isfinite(d.next_attempt_at) THEN d.next_attempt_at END AS next_attempt_at, clock_now() AS as_of, (
    SELECT json_agg(json_build_object('kind', o.kind, 'state', o.state, 'ref', o.destination_ref, 'operation_key', o.operation_key,
      'attempts', o.attempts) ORDER BY k.position)
    FROM unnest(d.operation_keys) WITH ORDINALITY AS k(operation_key, position)
      JOIN operation o ON o.operation_key = k.operation_key AND o.event_id = d.event_id AND o.destination = d.destination
  ) AS operations
FROM delivery d WHERE d.event_id = ANY ($1::uuid[]) ORDER BY d.event_id, d.destination`;

/** Handler of POST /internal/v1/deliveries:state: what is claimed here, by event id and, where asked for, destination. */
export function statesRoute(db: Sql): (body: StatesRequest) => Promise<StatesAnswer> {
  return async ({ items }) => {
    const ids = [...new Set(items.map((item) => item.event_id.toLowerCase()))];
    const rows = await db.sql<StateRow>('delivery.states', statesSql, [ids]);
    const byEvent = new Map<string, StateRow[]>(ids.map((id) => [id, []]));
    for (const row of rows) byEvent.get(row.event_id)?.push(row);
    return { items: items.map((item) => ({ event_id: item.event_id, deliveries: deliveriesOf(item, byEvent) })) };
  };
}

function deliveriesOf(item: StatesRequest['items'][number], byEvent: ReadonlyMap<string, StateRow[]>): DeliveryStateItem[] {
  const rows = byEvent.get(item.event_id.toLowerCase()) ?? [];
  return rows.filter((row) => item.destination === undefined || row.destination === item.destination).map(toItem);
}

function toItem(row: StateRow): DeliveryStateItem {
  return {
    destination: row.destination,
    state: row.state,
    class: row.class ?? undefined,
    code: row.code ?? undefined,
    generation: row.generation,
    deadline_at: row.deadline_at.toISOString(),
    next_attempt_at: row.next_attempt_at?.toISOString(),
    as_of: row.as_of.toISOString(),
    complete: row.declared > 0 && row.operations?.length === row.declared,
    operations: (row.operations ?? []).map(({ ref, ...operation }) => ({ ...operation, ref: ref ?? undefined })),
  };
}
