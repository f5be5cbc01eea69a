import { z } from 'zod';
import type { DeliveryState } from '#contracts';
import type { Sql } from '#runtime';

export const unresolvedRequest = z.object({
  /** The `next` of the page before. */
  after: z.string().max(600).optional(),
  limit: z.int().min(1).max(500).default(500),
});
export type UnresolvedRequest = z.infer<typeof unresolvedRequest>;

export interface UnresolvedItem {
  event_id: string;
  destination: string;
  /** `dead`, `expired`, or `uncertain` for long. */
  state: DeliveryState;
  class?: string;
  code?: string;
  lead_ref: string;
  generation: number;
  /** When it came to this; ISO 8601, as all times here. */
  since: string;
  submitted_at: string;
  deadline_at: string;
}

export interface UnresolvedAnswer {
  items: UnresolvedItem[];
  /** Present where there may be more. A row that ends while pages are read may lie behind it: begin anew each time. */
  next?: string;
}

interface Row extends Omit<UnresolvedItem, 'since' | 'submitted_at' | 'deadline_at'> {
  since: Date;
  submitted_at: Date;
  deadline_at: Date;
  since_us: string;
}

const unresolvedSql = `
SELECT event_id, destination, state, class, code, lead_ref, generation, updated_at AS since, submitted_at, deadline_at,
  (extract(epoch FROM updated_at) * 1000000)::bigint::text AS since_us
FROM delivery
WHERE (state IN ('dead', 'expired') OR (state = 'uncertain' AND raised_at IS NOT NULL))
  AND (updated_at, event_id, destination) > (to_timestamp(0) + $1::bigint * interval '1 microsecond', $2::uuid, $3)
ORDER BY updated_at, event_id, destination LIMIT $4`;

const cursor = z.tuple([z.string().regex(/^\d{1,18}$/), z.uuid(), z.string()]);
const beginning: z.infer<typeof cursor> = ['0', '00000000-0000-0000-0000-000000000000', ''];

/**
 * Handler of POST /internal/v1/deliveries:unresolved: every delivery that a person is to decide about, longest first, for comparison with the
 * dead letters that arrived. A cursor that is none of ours begins anew.
 */
export function unresolvedRoute(db: Sql): (body: UnresolvedRequest) => Promise<UnresolvedAnswer> {
  return async ({ after, limit }) => {
    const rows = await db.sql<Row>('delivery.unresolved', unresolvedSql, [...readCursor(after), limit]);
    const last = rows.length === limit ? rows.at(-1) : undefined;
    return { items: rows.map(toItem), next: last && writeCursor(last) };
  };
}

const writeCursor = (row: Row): string => Buffer.from(JSON.stringify([row.since_us, row.event_id, row.destination])).toString('base64url');

function readCursor(after: string | undefined): z.infer<typeof cursor> {
  if (after === undefined) return beginning;
  try {
    return cursor.parse(JSON.parse(Buffer.from(after, 'base64url').toString()));
  } catch {
    return beginning;
  }
}

function toItem({ since_us: _, ...row }: Row): UnresolvedItem {
  return {
    ...row,
    class: row.class ?? undefined,
    code: row.code ?? undefined,
    since: row.since.toISOString(),
    submitted_at: row.submitted_at.toISOString(),
    deadline_at: row.deadline_at.toISOString(),
  };
}
