import type { DeliveryState } from '#contracts';
import { operationKey } from '#contracts';
import type { Database, Tx } from '#runtime';
import { kindOfKey } from '../permits/kind-of-key.js';
import type { Permit, Repair } from '../permits/permit.js';
import type { Work } from '../work.js';
import type { ClaimedRow } from './claimed.js';

interface LockedRow {
  state: DeliveryState;
  attempt_id: string | null;
  generation: number;
  operation_keys: string[];
  replay_item: string | null;
  closed_items: string[];
}

const lockSql = `
SELECT state, attempt_id, generation, operation_keys, replay_item, closed_items FROM delivery WHERE event_id = $1 AND destination = $2 FOR UPDATE`;

/** Also what was behind an operation that failed and was never begun. */
const adoptSql = `
UPDATE operation o SET state = 'succeeded', destination_ref = coalesce(i.ref, o.destination_ref), class = NULL, code = NULL, updated_at = clock_now()
FROM unnest($1::text[], $2::text[]) AS i(operation_key, ref)
WHERE o.operation_key = i.operation_key AND o.state IN ('pending', 'waiting', 'held', 'dead', 'expired')`;

/** Under a key of its own: under the old one the destination would answer what it answered then. */
const renewSql = `
INSERT INTO operation (operation_key, event_id, destination, kind, state, destination_ref, compared, updated_at)
SELECT i.new_key, o.event_id, o.destination, o.kind, 'pending', CASE WHEN NOT i.anew THEN coalesce(o.destination_ref, i.ref) END, i.compared::jsonb, clock_now()
FROM unnest($1::text[], $2::text[], $3::text[], $4::bool[], $5::text[]) AS i(operation_key, new_key, ref, anew, compared)
  JOIN operation o ON o.operation_key = i.operation_key
WHERE o.state = 'succeeded'
ON CONFLICT (operation_key) DO NOTHING
RETURNING operation_key`;

const foundSql = `
SELECT count(*)::int AS count FROM operation WHERE operation_key = ANY ($1::text[]) AND state = 'succeeded'`;

/** Proved not to have been executed: what is sent now may be another request. */
const reopenSql = `
UPDATE operation o SET state = 'pending', attempts_before = o.attempts, absences = 0, class = NULL, code = NULL, request_hash = NULL,
  mapping_version = NULL, compared = NULL, sending_at = NULL, updated_at = clock_now()
WHERE o.operation_key = ANY ($1::text[]) AND o.state IN ('pending', 'waiting', 'held', 'dead', 'expired')`;

/** The person's record is changed by its reference, also where only a lookup brought that. */
const contactSql = `
INSERT INTO contact_state AS c (person_key, destination, contact_ref, updated_at)
SELECT convert_from(d.record_key, 'UTF8'), d.destination, $3, clock_now() FROM delivery d WHERE d.event_id = $1 AND d.destination = $2 AND d.record_key <> ''
ON CONFLICT (person_key, destination) DO UPDATE SET contact_ref = coalesce(c.contact_ref, excluded.contact_ref)`;

/** The permit's last moment is looked at here, under the lock: whoever waits for a row or a database does not know how long. */
const takeSql = `
WITH clock AS MATERIALIZED (SELECT clock_now() AS now), taken AS (
  UPDATE delivery d SET state = 'in_flight', attempt_id = $3, lease_until = now + $4::float8 * interval '1 millisecond', next_attempt_at = NULL,
    woken_at = NULL, claims = d.claims + 1, updated_at = now, class = NULL, code = NULL, replay_item = $5,
    original_deadline_at = coalesce(d.original_deadline_at, d.deadline_at), deadline_at = $6, generation = $7, operation_keys = $8::text[]
  FROM clock WHERE d.event_id = $1 AND d.destination = $2 AND ($9::timestamptz IS NULL OR now <= $9)
  RETURNING d.*
)
SELECT attempt_id, (extract(epoch FROM deadline_at - now) * 1000)::float8 AS left_ms, (extract(epoch FROM now) * 1000)::float8 AS now_ms,
  (extract(epoch FROM claimed_at) * 1000)::float8 AS first_seen_ms, generation, operation_keys, traceparent, tracestate, last_traceparent
FROM taken, clock`;

/**
 * The person's record is not there any more; one that another lead of the person has made since is. Whoever made the gone one is not to bring its
 * reference back.
 */
const goneContactSql = `
UPDATE contact_state c SET contact_ref = nullif(c.contact_ref, coalesce(o.destination_ref, $4)), owner_key = nullif(c.owner_key, $3),
  owner_hold_id = CASE WHEN c.owner_key <> $3 THEN c.owner_hold_id END, owner_fields = CASE WHEN c.owner_key <> $3 THEN c.owner_fields END,
  updated_at = clock_now()
FROM delivery d JOIN operation o ON o.operation_key = $3
WHERE d.event_id = $1 AND d.destination = $2 AND c.person_key = convert_from(d.record_key, 'UTF8') AND c.destination = d.destination`;

export interface RepairClaim {
  work: Pick<Work<unknown>, 'attemptId' | 'plan'>;
  permit: Permit & { repair: Repair };
  leaseMs: number;
  /** A record that it changes was written since it was compared, or one that it makes anew is there. */
  stale?: boolean;
}

/** Its record is settled and does not come again: whoever asks after the item is told that it ended. One that was applied before is not touched. */
const closeSql = `
UPDATE delivery SET closed_items = array_append(closed_items, $3::uuid)
WHERE event_id = $1 AND destination = $2 AND replay_item IS DISTINCT FROM $3 AND NOT $3 = ANY (closed_items)`;

/** The rows are not what was approved: undoes what was written of the claim, and never leaves this file. */
class NotAsApproved extends Error {
  override readonly name = 'NotAsApproved';
}

/**
 * Takes one delivery that was corrected or is repaired, once per item: what had succeeded and is to be changed gets a new generation under a new key, and
 * so does what is not there any more, without its reference; what the destination was found to have counts as succeeded, and what it was proved not to have is tried again under its own key. Undefined where the row is
 * not what was approved: another generation, another item, at work, closed, or an operation
 * that cannot be taken for succeeded; where a record that it changes was written since; or where the permit is over. Then nothing of it is changed,
 * and the item is closed.
 */
export async function claimRepair(db: Database, claim: RepairClaim): Promise<ClaimedRow | undefined> {
  const taken = claim.stale ? undefined : await takenOnce(db, claim);
  const { eventId, destination, itemId } = claim.permit;
  if (taken === undefined) await db.sql('delivery.repair_close', closeSql, [eventId, destination, itemId]);
  return taken;
}

/** Undefined, and nothing is changed, where the row is not what was approved. */
async function takenOnce(db: Database, claim: RepairClaim): Promise<ClaimedRow | undefined> {
  return claimOnce(db, claim).catch((error: unknown) => {
    if (error instanceof NotAsApproved) return undefined;
    throw error;
  });
}

function claimOnce(db: Database, { work, permit, leaseMs }: RepairClaim): Promise<ClaimedRow | undefined> {
  return db.transaction(async (tx) => {
    const name = [permit.eventId, permit.destination];
    const [row] = await tx.sql<LockedRow>('delivery.repair_lock', lockSql, name);
    if (row === undefined) return undefined;
    // The answer of this very claim was lost.
    const again = row.state === 'in_flight' && row.replay_item === permit.itemId && row.attempt_id === work.attemptId;
    if (!again && !isApproved(row, permit)) return undefined;
    const { generation, keys } = again ? { generation: row.generation, keys: row.operation_keys } : await prepare(tx, row, permit);
    const values = [...name, work.attemptId, leaseMs, permit.itemId, permit.deadlineAt, generation, keys, again ? null : permit.notAfter];
    const [taken] = await tx.sql<ClaimedRow>('delivery.repair_take', takeSql, values);
    if (taken === undefined) throw new NotAsApproved();
    return taken;
  });
}

const repairable: readonly DeliveryState[] = ['delivered', 'dead', 'expired'];

function isApproved(row: LockedRow, { repair, itemId, operationKeys }: RepairClaim['permit']): boolean {
  const { renew, adopt, forget = [] } = repair;
  // Delivered, and nothing of it changes: another round would deliver it twice or do nothing.
  const useful = row.state !== 'delivered' || renew.length + forget.length > 0;
  const named = [...renew, ...adopt, ...forget].every(({ operationKey: key }) => row.operation_keys.includes(key));
  const allowed = row.operation_keys.every((key) => operationKeys.includes(key));
  return (
    useful &&
    named &&
    allowed &&
    repairable.includes(row.state) &&
    row.generation === repair.generation &&
    row.replay_item !== itemId &&
    !row.closed_items.includes(itemId)
  );
}

async function prepare(tx: Tx, row: LockedRow, permit: RepairClaim['permit']): Promise<{ generation: number; keys: string[] }> {
  const { renew, adopt, forget = [] } = permit.repair;
  const [found, again] = [
    [...renew, ...adopt],
    [...renew, ...forget],
  ];
  await tx.sql('delivery.repair_adopt', adoptSql, [found.map((one) => one.operationKey), found.map(({ ref }) => ref ?? null)]);
  const named = [...found, ...forget].map((one) => one.operationKey);
  const [succeeded] = await tx.sql<{ count: number }>('delivery.repair_found', foundSql, [named]);
  if (succeeded?.count !== named.length) throw new NotAsApproved();
  const generation = again.length === 0 ? row.generation : row.generation + 1;
  const renewed = new Map(again.map((one) => [one.operationKey, renewedKey(one.operationKey, permit, generation)]));
  const made = await tx.sql('delivery.repair_renew', renewSql, [
    [...renewed.keys()],
    [...renewed.values()],
    again.map(({ ref }) => ref ?? null),
    again.map((one) => forget.includes(one)),
    again.map(({ compared }) => (compared === undefined ? null : JSON.stringify(compared))),
  ]);
  if (made.length !== again.length) throw new NotAsApproved();
  await tx.sql('delivery.repair_reopen', reopenSql, [row.operation_keys.filter((key) => !named.includes(key))]);
  await prepareContact(tx, permit);
  return { generation, keys: row.operation_keys.map((key) => renewed.get(key) ?? key) };
}

async function prepareContact(tx: Tx, permit: RepairClaim['permit']): Promise<void> {
  const { renew, forget = [] } = permit.repair;
  const isContact = ({ operationKey: key }: { operationKey: string }): boolean => kindOfKey(key, permit) === 'contact';
  const name = [permit.eventId, permit.destination];
  const [contact, gone] = [renew.find(isContact), forget.find(isContact)];
  if (contact?.ref !== undefined) await tx.sql('delivery.repair_contact', contactSql, [...name, contact.ref]);
  if (gone !== undefined) await tx.sql('delivery.repair_contact_gone', goneContactSql, [...name, gone.operationKey, gone.ref ?? null]);
}

function renewedKey(key: string, permit: Permit, generation: number): string {
  return operationKey(permit.eventId, permit.destination, kindOfKey(key, permit), generation);
}
