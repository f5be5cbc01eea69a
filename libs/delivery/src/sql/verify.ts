import type { Database, Tx } from '#runtime';
import type { StoredDelivery } from '../stored-delivery.js';
import { dueAtOne } from '../uncertain-ddl.js';
import { clock, lockStored, type StoredRow, storedColumns, withOperations } from './stored.js';

interface Lease {
  /** Rows at most. */
  limit: number;
  leaseMs: number;
}

/** Due rows, longest due first. The time is no table to join with: so the index gives them in their order, and no more than the limit is read. */
const dueSql = (which: string, { limit, dueAt = dueAtOne }: { limit: string; dueAt?: string }): string => `
  SELECT event_id, delivery.destination FROM delivery
  WHERE state = 'uncertain' AND ${dueAt} <= (SELECT now FROM clock) AND ${which}
  ORDER BY ${dueAt} LIMIT ${limit} FOR UPDATE OF delivery SKIP LOCKED`;

const leaseSql = (due: string): string => `
${clock}, due AS MATERIALIZED (${due})
UPDATE delivery d SET attempt_id = gen_random_uuid(), lease_until = now + $2::float8 * interval '1 millisecond'
FROM due, clock
WHERE d.event_id = due.event_id AND d.destination = due.destination
RETURNING ${storedColumns}`;

/**
 * Leases uncertain rows that are due for a lookup, longest due first; the state stays `uncertain`. Rows of other processes' leases and of the
 * destinations to `skip` are left out.
 */
export function leaseUncertain(db: Database, { skip, limit, leaseMs }: Lease & { skip: readonly string[] }): Promise<StoredDelivery[]> {
  return db.transaction(async (tx) => {
    const dueAt = `coalesce(lease_until, next_attempt_at, '-infinity')`;
    const sql = leaseSql(dueSql('destination <> ALL ($3::text[])', { limit: '$1', dueAt }));
    return withOperations(tx, await tx.sql<StoredRow>('verify.lease', sql, [limit, leaseMs, skip]));
  });
}

export const leaseByRoomSql = leaseSql(`
  SELECT found.* FROM unnest($1::text[], $3::int4[]) AS lane(destination, room)
  CROSS JOIN LATERAL (${dueSql('delivery.destination = lane.destination', { limit: 'lane.room' })}) AS found`);

/** The same of some destinations, of each as many as it has room for. */
export function leaseByRoom(db: Database, rooms: ReadonlyMap<string, number>, leaseMs: number): Promise<StoredDelivery[]> {
  if (rooms.size === 0) return Promise.resolve([]);
  return db.transaction(async (tx) => {
    const values = [[...rooms.keys()], leaseMs, [...rooms.values()]];
    return withOperations(tx, await tx.sql<StoredRow>('verify.lease_by_room', leaseByRoomSql, values));
  });
}

/** The same of one destination, and only what has been uncertain for `horizonMs` without its owner being told. */
export function leaseUnraised(
  db: Database,
  { destination, horizonMs, limit, leaseMs }: Lease & { destination: string; horizonMs: number },
): Promise<StoredDelivery[]> {
  return db.transaction(async (tx) => {
    const unraised = `destination = $3 AND raised_at IS NULL AND updated_at <= (SELECT now FROM clock) - $4::float8 * interval '1 millisecond'`;
    const sql = leaseSql(dueSql(unraised, { limit: '$1' }));
    return withOperations(tx, await tx.sql<StoredRow>('verify.lease_unraised', sql, [limit, leaseMs, destination, horizonMs]));
  });
}

/** Locks a delivery that is still uncertain under this lease; undefined when an answer, a person or another process was first. */
export async function lockLeased(tx: Tx, leased: StoredDelivery): Promise<StoredDelivery | undefined> {
  const stored = await lockStored(tx, leased);
  return stored && holdsLease(stored, leased) ? stored : undefined;
}

/** The delivery is still uncertain under this lease. */
export const holdsLease = (stored: StoredDelivery, leased: StoredDelivery): boolean =>
  stored.state === 'uncertain' && stored.attemptId === leased.attemptId;

/**
 * Keeps an operation from being marked until this transaction ends, and from then on where it changes its state: whoever marks waits for this
 * lock and looks again. False: it is not in flight, or is marked.
 */
export async function lockUnmarked(tx: Tx, operationKey: string): Promise<boolean> {
  const rows = await tx.sql(
    'verify.lock_unmarked',
    `SELECT operation_key FROM operation WHERE operation_key = $1 AND state = 'in_flight' AND sending_at IS NULL FOR UPDATE`,
    [operationKey],
  );
  return rows.length > 0;
}

/** Gives a lease back: the row is due in `dueInMs` again, never sooner than it was. */
export async function giveBack(db: Database, { eventId, destination, attemptId }: StoredDelivery, dueInMs: number): Promise<void> {
  await db.sql(
    'verify.give_back',
    `${clock} UPDATE delivery d SET lease_until = NULL, next_attempt_at = greatest(next_attempt_at, now + $4::float8 * interval '1 millisecond')
     FROM clock WHERE event_id = $1 AND destination = $2 AND attempt_id = $3 AND state = 'uncertain'`,
    [eventId, destination, attemptId, dueInMs],
  );
}
