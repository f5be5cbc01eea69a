import type { DiscrepancyClass, ReconcileRun, RunState } from '#delivery';
import type { Sql } from '#runtime';

/**
 * Where a run goes on. `forward`: from our deliveries to the destination; `known`: once more those whose discrepancies are open, whenever they were
 * submitted or missed once; `records`: once more records that are not ours and of which a finding is open, whenever they were made; `reverse`: from the destination's changes to ours, by kind of record.
 */
export interface RunCursor {
  phase?: 'forward' | 'known' | 'records' | 'reverse';
  /** Of the deliveries, of their event ids, of findings, or of the destination's changes. */
  after?: string;
  /** Kind whose changes are read. */
  kind?: string;
}

export type RunCounts = { compared?: number; unconfirmed?: number } & Partial<Record<DiscrepancyClass, number>>;

export interface RunRow {
  run_id: string;
  destination: string;
  from_at: Date;
  to_at: Date;
  form: string | null;
  campaign: string | null;
  outcome: string | null;
  state: RunState;
  by_whom: string;
  reason: string | null;
  cursor: RunCursor;
  counts: RunCounts;
  calls: number;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  takes: number;
  lease_owner: string | null;
}

export const runColumns = `run_id, destination, from_at, to_at, form, campaign, outcome, state, by_whom, reason, cursor, counts, calls,
  created_at, started_at, finished_at, takes, lease_owner`;

export function toRun(row: RunRow): ReconcileRun {
  const { form, campaign, outcome, reason } = row;
  return {
    run_id: row.run_id,
    destination: row.destination,
    from: row.from_at.toISOString(),
    to: row.to_at.toISOString(),
    filter: { ...(form !== null && { form }), ...(campaign !== null && { campaign }), ...(outcome !== null && { outcome }) },
    state: row.state,
    by: row.by_whom,
    ...(reason !== null && { reason }),
    counts: { compared: 0, unconfirmed: 0, ...row.counts },
    calls: row.calls,
    created_at: row.created_at.toISOString(),
    ...(row.started_at && { started_at: row.started_at.toISOString() }),
    ...(row.finished_at && { finished_at: row.finished_at.toISOString() }),
    resumed: Math.max(0, row.takes - 1),
  };
}

/** The database's now, in epoch milliseconds. */
export async function databaseNowMs(db: Sql): Promise<number> {
  const [row] = await db.sql<{ now: number }>('reconciler.now', 'SELECT (extract(epoch FROM clock_now()) * 1000)::float8 AS now', []);
  return row?.now ?? Date.now();
}
