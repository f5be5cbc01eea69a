import type { Database, Tx } from '#runtime';
import type { StoredDelivery } from '../stored-delivery.js';
import { clock, lockStored, type StoredRow, storedColumns, withOperations } from './stored.js';

interface Lease {
  /** Rows at most. */
  limit: number;
  leaseMs: number;
}

/** Due rows, longest due first. */
const dueSql = (which: string, limit: string): string => `
  SELECT event_id, delivery.destination FROM delivery, clock
  WHERE state = 'uncertain' AND coalesce(lease_until, next_attempt_at, '-infinity') <= now AND ${which}
  ORDER BY coalesce(lease_until, next_attempt_at, '-infinity') LIMIT ${limit} FOR UPDATE OF delivery SKIP LOCKED`;

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
    const sql = leaseSql(dueSql('destination <> ALL ($3::text[])', '$1'));
    return withOperations(tx, await tx.sql<StoredRow>('verify.lease', sql, [limit, leaseMs, skip]));
  });
}

/** The same of some destinations, of each as many as it has room for. */
export function leaseByRoom(db: Database, rooms: ReadonlyMap<string, number>, leaseMs: number): Promise<StoredDelivery[]> {
  if (rooms.size === 0) return Promise.resolve([]);
  return db.transaction(async (tx) => {
    const ofOne = dueSql('delivery.destination = lane.destination', 'lane.room');
    const sql = leaseSql(`
  SELECT found.* FROM unnest($1::text[], $3::int4[]) AS lane(destination, room) CROSS JOIN LATERAL (${ofOne}) AS found`);
    return withOperations(tx, await tx.sql<StoredRow>('verify.lease_by_room', sql, [[...rooms.keys()], leaseMs, [...rooms.values()]]));
  });
}

/** The same of one destination, and only what has been uncertain for `horizonMs` without its owner being told. */
export function leaseUnraised(
  db: Database,
  { destination, horizonMs, limit, leaseMs }: Lease & { destination: string; horizonMs: number },
): Promise<StoredDelivery[]> {
  return db.transaction(async (tx) => {
    const unraised = `destination = $3 AND raised_at IS NULL AND updated_at <= now - $4::float8 * interval '1 millisecond'`;
    const sql = leaseSql(dueSql(unraised, '$1'));
    return withOperations(tx, await tx.sql<StoredRow>('verify.lease_unraised', sql, [limit, leaseMs, destination, horizonMs]));
  });
}

/** Locks a delivery that is still uncertain under this lease; undefined when an answer, a person or another process was first. */
export async function lockLeased(tx: Tx, leased: StoredDelivery): Promise<StoredDelivery | undefined> {
  const stored = await lockStored(tx, leased);
  return stored?.state === 'uncertain' && stored.attemptId === leased.attemptId ? stored : undefined;
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
