import { z } from 'zod';
import type { Sql } from '#runtime';

export const findRequest = z.object({
  kind: z.enum(['attempt_id', 'trace_id', 'destination_ref']),
  value: z.string().min(1).max(512),
});
export type FindRequest = z.infer<typeof findRequest>;

export interface FoundDelivery {
  event_id: string;
  destination: string;
  operation_key: string;
}

export interface FindAnswer {
  /** Newest first, at most 50: a reference that a destination uses for everything finds no more. */
  items: FoundDelivery[];
}

const most = 50;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const columns: Readonly<Record<FindRequest['kind'], { column: string; type: string }>> = {
  attempt_id: { column: 'attempt_id', type: 'uuid' },
  trace_id: { column: 'trace_id', type: 'text' },
  destination_ref: { column: 'destination_ref', type: 'text' },
};

/** Every reference that an operation got came with a row of the log of attempts, which alone has an index for it. */
const findSql = ({ column, type }: { column: string; type: string }): string => `
WITH found AS MATERIALIZED (
  SELECT operation_key, max(started_at) AS at FROM attempt WHERE ${column} = $1::${type} GROUP BY operation_key ORDER BY at DESC LIMIT ${most}
)
SELECT o.event_id, o.destination, o.operation_key FROM found JOIN operation o USING (operation_key) ORDER BY found.at DESC`;

/** Handler of POST /internal/v1/deliveries:find: which deliveries an attempt, a trace or the destination's own reference belongs to. */
export function findRoute(db: Sql): (body: FindRequest) => Promise<FindAnswer> {
  return async ({ kind, value }) => {
    if (kind === 'attempt_id' && !uuid.test(value)) return { items: [] };
    const items = await db.sql<FoundDelivery>(`delivery.find.${kind}`, findSql(columns[kind]), [
      kind === 'trace_id' ? value.toLowerCase() : value,
    ]);
    return { items };
  };
}
