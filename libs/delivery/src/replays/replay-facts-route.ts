import { z } from 'zod';
import type { DeliveryState, OperationState } from '#contracts';
import type { Sql } from '#runtime';
import type { SweptTarget } from '../swept-target.js';

export const replayFactsRequest = z.object({
  items: z
    .array(z.object({ event_id: z.uuid(), destination: z.string().min(1).max(512) }))
    .min(1)
    .max(500),
});
export type ReplayFactsRequest = z.infer<typeof replayFactsRequest>;

export interface ReplayFactsOperation {
  operation_key: string;
  kind: string;
  state: OperationState;
  ref?: string;
  /** Pinned by the first recorded call. */
  request_hash?: string;
  mapping_version?: number;
  /** ISO 8601: the first call that may have been executed at the destination although it did not succeed here; absent: there is none. */
  doubtful_since?: string;
  /**
   * The last such call is so recent that the destination may still be at work on it, or its search may not find yet what came of it: a lookup that finds
   * nothing proves nothing. Absent: it does.
   */
  unsettled?: true;
}

/** What a dry run needs to know of one delivery, from its own service. */
export interface ReplayFacts {
  event_id: string;
  destination: string;
  lead_ref: string;
  state: DeliveryState;
  class?: string;
  code?: string;
  /** ISO 8601, as all times here. */
  deadline_at: string;
  /** Of a refused record the time of the record: what it says itself lies sealed. Absent: the letter knows it. */
  submitted_at?: string;
  generation: number;
  /** In declared order. */
  operations: ReplayFactsOperation[];
  /** Of the mapping that a request would be made by now; absent: the target has none. */
  mapping_version?: number;
  /** Kinds of operation that can be looked up. */
  lookup: string[];
}

export interface ReplayFactsAnswer {
  /** In the order of the request; null: not known here. */
  items: (ReplayFacts | null)[];
}

interface FactsRow {
  event_id: string;
  destination: string;
  lead_ref: string | null;
  state: DeliveryState;
  class: string | null;
  code: string | null;
  deadline_at: Date;
  generation: number;
  operations: (Omit<ReplayFactsOperation, 'ref' | 'request_hash' | 'mapping_version' | 'doubtful_since' | 'unsettled'> & {
    ref: string | null;
    request_hash: string | null;
    mapping_version: number | null;
    doubtful: { since: string; last_age_ms: number } | null;
  })[];
}

/** A call without an answer, or with one that does not say that nothing was done. 429 does. */
const factsSql = `
SELECT i.event_id, i.destination, d.lead_ref, d.state, d.class, d.code, d.deadline_at, d.generation, coalesce((
    SELECT json_agg(json_build_object('operation_key', o.operation_key, 'kind', o.kind, 'state', o.state, 'ref', o.destination_ref,
      'request_hash', o.request_hash, 'mapping_version', o.mapping_version, 'doubtful', CASE WHEN o.state <> 'succeeded' THEN (
        SELECT json_build_object('since', min(a.started_at), 'last_age_ms', extract(epoch FROM clock_now() - max(a.started_at)) * 1000)
        FROM attempt a WHERE a.operation_key = o.operation_key
          AND a.outcome IN ('uncertain', 'transient', 'lease_expired') AND a.status IS DISTINCT FROM 429 HAVING count(*) > 0
      ) END) ORDER BY k.position)
    FROM unnest(d.operation_keys) WITH ORDINALITY AS k(operation_key, position) JOIN operation o USING (operation_key)
  ), '[]'::json) AS operations
FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS i(event_id, destination, position)
  LEFT JOIN delivery d ON d.event_id = i.event_id AND d.destination = i.destination
ORDER BY i.position`;

export interface ReplayFactsOptions {
  db: Sql;
  target(destination: string): Pick<SweptTarget, 'canLookUp' | 'mappingVersion' | 'timeoutMs' | 'verification'> | undefined;
}

/** Handler of POST /internal/v1/replay-items:facts. */
export function replayFactsRoute({ db, target }: ReplayFactsOptions): (body: ReplayFactsRequest) => Promise<ReplayFactsAnswer> {
  return async ({ items }) => {
    const values = [items.map(({ event_id }) => event_id), items.map(({ destination }) => destination)];
    const rows = await db.sql<FactsRow>('delivery.replay_facts', factsSql, values);
    return { items: rows.map((row) => toFacts(row, target(row.destination))) };
  };
}

function toFacts(row: FactsRow, target: ReturnType<ReplayFactsOptions['target']>): ReplayFacts | null {
  const { event_id, destination, lead_ref, state, generation } = row;
  if (lead_ref === null) return null;
  const operations = row.operations.map(({ ref, request_hash, mapping_version, doubtful, ...operation }) => ({
    ...operation,
    ref: ref ?? undefined,
    request_hash: request_hash ?? undefined,
    mapping_version: mapping_version ?? undefined,
    doubtful_since: doubtful === null ? undefined : new Date(doubtful.since).toISOString(),
    ...(doubtful !== null && doubtful.last_age_ms < settledAfterMs(target) && { unsettled: true as const }),
  }));
  return {
    event_id,
    destination,
    lead_ref,
    state,
    class: row.class ?? undefined,
    code: row.code ?? undefined,
    deadline_at: row.deadline_at.toISOString(),
    generation,
    operations,
    mapping_version: target?.mappingVersion,
    lookup: operations.map(({ kind }) => kind).filter((kind) => target?.canLookUp(kind) === true),
  };
}

/** From the beginning of a call on. */
function settledAfterMs(target: ReturnType<ReplayFactsOptions['target']>): number {
  if (target === undefined) return Number.POSITIVE_INFINITY;
  const { maxExecutionMs, searchLagMs } = target.verification;
  return target.timeoutMs + maxExecutionMs + searchLagMs;
}
