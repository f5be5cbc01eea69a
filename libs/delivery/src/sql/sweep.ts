import { type DeliveryState, retryTierMs } from '#contracts';
import type { Tx } from '#runtime';
import { clock, type StoredRow, storedColumns } from './stored.js';

/** Rows of one statement at most; a sweep repeats until fewer are left. */
export const sweepBatch = 200;
/** A row that is due this long, beyond what its destination is behind, is woken by the sweeper: whoever should have woken it did not. */
const overdueMs = 10_000;
/** At most one wake-up per delivery in this time. */
const wakeAgainMs = 60_000;
/** Rows that wait longer than the largest tier have no record: they are woken this long before they are due. */
const aheadMs = 10_000;

const locked = `LIMIT ${sweepBatch} FOR UPDATE OF d SKIP LOCKED`;

/** True when this transaction is the only one that sweeps this schema. */
export async function becomeSweeper(tx: Tx): Promise<boolean> {
  const [row] = await tx.sql<{ ours: boolean }>(
    'sweep.lock',
    `SELECT pg_try_advisory_xact_lock(hashtext('delivery sweeper'), hashtext(current_schema())) AS ours`,
    [],
  );
  return row?.ours === true;
}

/**
 * Claims whose holder did not renew them, oldest first. Rows that someone is writing at this moment are left out, and those of the
 * destinations to `skip`.
 */
export function expiredLeases(tx: Tx, skip: readonly string[]): Promise<StoredRow[]> {
  return tx.sql<StoredRow>(
    'sweep.expired',
    `${clock}
     SELECT ${storedColumns} FROM delivery d, clock
     WHERE state IN ('in_flight', 'pending', 'waiting') AND state = 'in_flight' AND coalesce(lease_until, next_attempt_at) < now
       AND destination <> ALL ($1::text[])
     ORDER BY coalesce(lease_until, next_attempt_at) ${locked}`,
    [skip],
  );
}

/** Rows not in flight whose deadline has passed, longest ago first, without those of the destinations to `skip`. */
export function pastDeadline(tx: Tx, skip: readonly string[]): Promise<StoredRow[]> {
  return tx.sql<StoredRow>(
    'sweep.deadline',
    `${clock}
     SELECT ${storedColumns} FROM delivery d, clock
     WHERE state IN ('pending', 'waiting', 'held') AND deadline_at <= now AND destination <> ALL ($1::text[])
     ORDER BY deadline_at ${locked}`,
    [skip],
  );
}

/** Rows of these destinations that nobody works on and whose deadline has passed, longest ago first; uncertain ones until they are raised. */
export function orphanedRows(tx: Tx, destinations: readonly string[]): Promise<StoredRow[]> {
  return tx.sql<StoredRow>(
    'sweep.orphaned',
    `${clock}
     SELECT ${storedColumns} FROM delivery d, clock
     WHERE destination = ANY ($1::text[]) AND deadline_at <= now AND (
       state IN ('pending', 'waiting') OR state = 'held' OR (state = 'uncertain' AND raised_at IS NULL) OR (state = 'in_flight' AND lease_until < now)
     )
     ORDER BY deadline_at ${locked}`,
    [destinations],
  );
}

export interface OverdueRow extends StoredRow {
  /** Milliseconds until it is due; negative: since then. */
  due_ms: number;
}

/**
 * Rows that are due and that nobody takes, and rows whose wait is so long that no record stands for them, oldest first, without those of the
 * destinations to `skip`. @param behind how many milliseconds late the rows of a destination are taken up at the moment: they are on their way
 */
export function overdue(tx: Tx, skip: readonly string[], behind: ReadonlyMap<string, number> = new Map()): Promise<OverdueRow[]> {
  return tx.sql<OverdueRow>(
    'sweep.overdue',
    `${clock}
     SELECT ${storedColumns}, (extract(epoch FROM next_attempt_at - now) * 1000)::float8 AS due_ms FROM delivery d, clock
     WHERE state IN ('in_flight', 'pending', 'waiting') AND state <> 'in_flight'
       AND coalesce(lease_until, next_attempt_at) < now + ${aheadMs} * interval '1 millisecond'
       AND (
         coalesce(lease_until, next_attempt_at) < now - interval '1 millisecond' * (${overdueMs} + coalesce(
           (SELECT b.ms FROM unnest($2::text[], $3::float8[]) AS b(destination, ms) WHERE b.destination = d.destination), 0))
         OR (state = 'waiting' AND woken_at IS NULL AND next_attempt_at - updated_at > ${retryTierMs['5m']} * interval '1 millisecond')
       )
       AND destination <> ALL ($1::text[])
       AND (woken_at IS NULL OR woken_at < now - ${wakeAgainMs} * interval '1 millisecond')
     ORDER BY coalesce(lease_until, next_attempt_at) ${locked}`,
    [skip, [...behind.keys()], [...behind.values()]],
  );
}

/** Notes that wake-ups were written for these rows. */
export async function markWoken(tx: Tx, rows: readonly StoredRow[]): Promise<void> {
  await tx.sql(
    'sweep.woken',
    `UPDATE delivery d SET woken_at = clock_now() FROM unnest($1::uuid[], $2::text[]) AS i(event_id, destination)
     WHERE d.event_id = i.event_id AND d.destination = i.destination`,
    [rows.map((row) => row.event_id), rows.map((row) => row.destination)],
  );
}

/** Values of `delivery.destination` with rows that wait (`queued`) or are held. */
export async function destinationsOf(tx: Tx, what: 'queued' | 'held'): Promise<string[]> {
  const states = what === 'queued' ? `state IN ('pending', 'waiting')` : `state = 'held'`;
  const rows = await tx.sql<{ destination: string }>(`sweep.${what}`, `SELECT DISTINCT destination FROM delivery WHERE ${states}`, []);
  return rows.map(({ destination }) => destination);
}

/**
 * Turns waiting rows of these destinations into `held`, also those that a process keeps in memory: its claim meets the new state. Rows of the
 * destinations to `spare` that were woken a short while ago are on their way to be probes. Gives the number of rows.
 */
export async function hold(tx: Tx, destinations: readonly string[], spare: readonly string[]): Promise<number> {
  const rows = await tx.sql(
    'sweep.hold',
    `${clock}, held AS (
       UPDATE delivery d SET state = 'held', attempt_id = NULL, lease_until = NULL, next_attempt_at = NULL, updated_at = now
       FROM (
         SELECT event_id, destination FROM delivery, clock
         WHERE state IN ('pending', 'waiting') AND destination = ANY ($1::text[])
           AND (destination <> ALL ($2::text[]) OR woken_at IS NULL OR woken_at < now - ${wakeAgainMs} * interval '1 millisecond')
         LIMIT ${sweepBatch} FOR UPDATE OF delivery SKIP LOCKED
       ) AS i, clock
       WHERE d.event_id = i.event_id AND d.destination = i.destination
       RETURNING d.operation_keys
     ), operations AS (
       UPDATE operation o SET state = 'held', updated_at = now FROM clock
       WHERE o.operation_key IN (SELECT unnest(operation_keys) FROM held) AND o.state IN ('pending', 'waiting')
     )
     SELECT 1 FROM held`,
    [destinations, spare],
  );
  return rows.length;
}

/** Held rows of these destinations. */
export function heldRows(tx: Tx, destinations: readonly string[]): Promise<StoredRow[]> {
  return tx.sql<StoredRow>(
    'sweep.held_rows',
    `${clock}
     SELECT ${storedColumns} FROM delivery d, clock WHERE state = 'held' AND destination = ANY ($1::text[]) ${locked}`,
    [destinations],
  );
}

/** Two held rows of a destination, as many as a probe needs; none while some were woken a short while ago. */
export function probeRows(tx: Tx, destination: string): Promise<StoredRow[]> {
  return tx.sql<StoredRow>(
    'sweep.probe_rows',
    `${clock}
     SELECT ${storedColumns} FROM delivery d, clock WHERE state = 'held' AND destination = $1
       AND NOT EXISTS (
         SELECT FROM delivery w WHERE w.state IN ('pending', 'waiting') AND w.destination = $1
           AND w.woken_at > now - ${wakeAgainMs} * interval '1 millisecond'
       )
     LIMIT 2 FOR UPDATE OF d SKIP LOCKED`,
    [destination],
  );
}

/** Destinations that nothing is sent to now: what waits for them is not woken. */
export async function blockedDestinations(tx: Tx): Promise<string[]> {
  const rows = await tx.sql<{ destination: string }>(
    'sweep.blocked',
    `SELECT destination FROM destination_state WHERE hold_at IS NOT NULL OR (mode = 'blocked' AND open_until > clock_now())`,
    [],
  );
  return rows.map(({ destination }) => destination);
}

export interface StateCount {
  destination: string;
  state: DeliveryState;
  count: number;
  /** Of these, of test leads: nobody's business. */
  tests: number;
  /** Seconds since the oldest of them was submitted, by the clock of its source; null where nothing of them ages. */
  oldest_s: number | null;
}

/** A test lead keeps nobody waiting, and a lead that is tried again on approval has a deadline of its own. */
const ages = 'NOT test AND replay_item IS NULL';

/**
 * What is dead or expired, hundreds of thousands at worst, is counted in its index alone, and so is what is held: the oldest of it is the first
 * of the backlog's index.
 */
export const countUnfinishedSql = `
SELECT destination, state, count, tests, extract(epoch FROM clock_now() - oldest)::float8 AS oldest_s FROM (
  SELECT destination, state, count(*)::int AS count, count(*) FILTER (WHERE test)::int AS tests,
    min(submitted_at) FILTER (WHERE state <> 'in_flight' AND ${ages}) AS oldest
  FROM delivery WHERE state IN ('in_flight', 'pending', 'waiting') GROUP BY destination, state
  UNION ALL
  SELECT destination, state, count(*)::int, count(*) FILTER (WHERE test)::int, min(submitted_at) FILTER (WHERE ${ages})
  FROM delivery WHERE state = 'uncertain' GROUP BY destination, state
  UNION ALL
  SELECT destination, state, count, (
    SELECT count(*)::int FROM delivery t
    WHERE t.test AND t.state IN ('uncertain', 'held', 'dead', 'expired') AND t.destination = ended.destination AND t.state = ended.state
  ), CASE WHEN state = 'held' THEN (
    SELECT submitted_at FROM delivery d
    WHERE d.state IN ('pending', 'waiting', 'held') AND d.state = 'held' AND d.destination = ended.destination AND ${ages}
    ORDER BY submitted_at LIMIT 1) END
  FROM (
    SELECT destination, state, count(*)::int AS count FROM delivery
    WHERE state IN ('uncertain', 'held', 'dead', 'expired') AND state <> 'uncertain' GROUP BY destination, state) ended
) counted`;

/** Unfinished deliveries by destination and state. */
export function countUnfinished(tx: Tx): Promise<StateCount[]> {
  return tx.sql<StateCount>('sweep.count', countUnfinishedSql, []);
}
