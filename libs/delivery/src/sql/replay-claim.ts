import { type Column, columnValues, type Database, unnestColumns } from '#runtime';
import type { Permit } from '../permits/permit.js';
import { byRowOrder, type Work } from '../work.js';
import type { ClaimResult } from './claim.js';
import { applyClaim, type ClaimedRow, reopen, type Taken } from './claimed.js';
import { claimRepair } from './repair-claim.js';

/** One delivery that came on a replay topic, with what allows it. */
export interface Replay<E> {
  work: Work<E>;
  permit: Permit;
  /** A record that it changes was written since it was compared, or one that it makes anew is there: it is closed, not applied. */
  stale?: boolean;
}

const columns: readonly Column<Replay<unknown>>[] = [
  ['attempt_id', 'uuid', ({ work }) => work.attemptId],
  ['event_id', 'uuid', ({ work }) => work.plan.eventId],
  ['destination', 'text', ({ work }) => work.plan.destination],
  ['item', 'uuid', ({ permit }) => permit.itemId],
  ['operation_keys', 'text', ({ permit }) => permit.operationKeys.join('\n')],
  ['not_after', 'timestamptz', ({ permit }) => permit.notAfter],
  ['deadline_at', 'timestamptz', ({ permit }) => permit.deadlineAt],
  ['remap', 'bool', ({ permit }) => permit.mappingVersion !== undefined],
];

/**
 * Takes dead and expired deliveries once more, each once per item: the item that a row names is never applied to it again, except by the
 * very claim that wrote it and whose answer was lost; one that was closed is never applied at all. Counted calls begin anew; a request may be
 * made by another mapping only where nothing of it can have been executed. The permit's last moment is looked at here once more: between the
 * gate and this statement a database may have been away.
 */
const replaySql = `
WITH clock AS MATERIALIZED (SELECT clock_now() AS now),
input AS MATERIALIZED (SELECT * FROM ${unnestColumns('i', columns)}),
taken AS (
  UPDATE delivery d
  SET state = 'in_flight', attempt_id = i.attempt_id, lease_until = now + $${1 + columns.length}::float8 * interval '1 millisecond',
      next_attempt_at = NULL, woken_at = NULL, claims = d.claims + 1, updated_at = now, class = NULL, code = NULL, replay_item = i.item,
      original_deadline_at = coalesce(d.original_deadline_at, d.deadline_at), deadline_at = i.deadline_at
  FROM input i, clock
  WHERE d.event_id = i.event_id AND d.destination = i.destination AND d.operation_keys <@ string_to_array(i.operation_keys, E'\\n')
    AND NOT i.item = ANY (d.closed_items)
    AND ((d.state IN ('dead', 'expired') AND d.replay_item IS DISTINCT FROM i.item AND i.not_after >= now)
      OR (d.state = 'in_flight' AND d.replay_item = i.item AND d.attempt_id = i.attempt_id))
  RETURNING d.attempt_id, d.deadline_at, d.claimed_at, d.generation, d.operation_keys, d.traceparent, d.tracestate, d.last_traceparent, i.remap
),
opened AS (
  UPDATE operation o
  SET state = 'pending', attempts_before = o.attempts, absences = 0, class = NULL, code = NULL,
      request_hash = CASE WHEN remap AND o.sending_at IS NULL THEN NULL ELSE o.request_hash END,
      mapping_version = CASE WHEN remap AND o.sending_at IS NULL THEN NULL ELSE o.mapping_version END
  FROM taken, unnest(taken.operation_keys) AS k(operation_key)
  WHERE o.operation_key = k.operation_key AND o.state IN ('pending', 'waiting', 'held', 'dead', 'expired', 'in_flight')
)
SELECT attempt_id, (extract(epoch FROM deadline_at - now) * 1000)::float8 AS left_ms, (extract(epoch FROM now) * 1000)::float8 AS now_ms,
    (extract(epoch FROM claimed_at) * 1000)::float8 AS first_seen_ms, generation, operation_keys, traceparent, tracestate, last_traceparent
FROM taken, clock`;

/** What a replayed record met. `refused`: the row has ended otherwise, is at work, is not known, or has taken this item before; or the permit is over. */
export type ReplayResult = Extract<ClaimResult, { kind: 'claimed' }> | { kind: 'refused' };

/** Claims one batch of approved items; no two of it may be the same delivery. */
export async function replayBatch<E>(db: Database, replays: readonly Replay<E>[], leaseMs: number): Promise<ReplayResult[]> {
  const sorted = replays.filter(({ permit }) => permit.repair === undefined).sort((a, b) => byRowOrder(a.work, b.work));
  const startedAt = performance.now();
  const rows =
    sorted.length === 0 ? [] : await db.sql<ClaimedRow>('delivery.replay', replaySql, [...columnValues(columns, sorted), leaseMs]);
  // Few and far between: each is a transaction of its own.
  for (const { work, permit, stale } of replays) {
    const { repair } = permit;
    const row = repair && (await claimRepair(db, { work, permit: { ...permit, repair }, leaseMs, stale }));
    if (row !== undefined) rows.push(row);
  }
  const byAttempt = new Map(rows.map((row) => [row.attempt_id, row]));
  const taken: Taken<E>[] = [];
  const results = replays.map(({ work }): ReplayResult => {
    const row = byAttempt.get(work.attemptId);
    if (row === undefined) return { kind: 'refused' };
    applyClaim(work, row, { startedAt, leaseMs });
    taken.push({ work, row });
    return { kind: 'claimed' };
  });
  if (taken.length > 0) await reopen(db, taken);
  return results;
}
