import type { DeliveryState, OperationState } from '#contracts';
import { type Column, columnValues, type Database, type Tx, unnestColumns } from '#runtime';
import type { Owner } from './busy.js';
import type { ContactWrite } from './contacts.js';
import { rankOf } from './rank.js';

/** The row after it became ours. */
export interface TakenRow {
  person_key: string;
  destination: string;
  contact_ref: string | null;
  fields: Record<string, string>;
}

/** A write with the hold that it is to have. */
export interface HoldingWrite extends ContactWrite {
  holdId: string;
}

const columns: readonly Column<HoldingWrite>[] = [
  ['person_key', 'text', (write) => write.personKey],
  ['destination', 'text', (write) => write.destination],
  ['operation_key', 'text', (write) => write.operationKey],
  ['hold_id', 'uuid', (write) => write.holdId],
  ['fields', 'jsonb', ranked],
];
const input = unnestColumns('i', columns);

function ranked(write: ContactWrite): string {
  const rank = rankOf(write);
  const fields: Record<string, string> = {};
  for (const name of write.fields) fields[name] = rank;
  return JSON.stringify(fields);
}

const person = 'c.person_key = i.person_key AND c.destination = i.destination';

/** What a row `c` holds of its fields once its owner's count too: a field's rank is the highest it ever had. */
export const mergedFields = `(SELECT coalesce(jsonb_object_agg(name, rank), '{}') FROM (
    SELECT key AS name, max(value COLLATE "C") AS rank
    FROM (SELECT * FROM jsonb_each_text(c.fields) UNION ALL SELECT * FROM jsonb_each_text(c.owner_fields)) AS both_sides
    GROUP BY key) AS newest)`;

/** Makes rows that are free, or ours already, ours: one per person and destination. Judges by the row alone, so one statement is enough. */
const takeFreeSql = `
INSERT INTO contact_state AS c (person_key, destination, owner_key, owner_hold_id, owner_fields, updated_at)
SELECT person_key, destination, operation_key, hold_id, fields, clock_now() FROM ${input} ORDER BY position
ON CONFLICT (person_key, destination) DO UPDATE
SET owner_key = excluded.owner_key, owner_hold_id = excluded.owner_hold_id, owner_fields = excluded.owner_fields,
    updated_at = excluded.updated_at
WHERE c.owner_key IS NULL OR c.owner_key = excluded.owner_key
RETURNING c.person_key, c.destination, c.contact_ref, c.fields`;

export function takeFree(db: Database, writes: readonly HoldingWrite[]): Promise<TakenRow[]> {
  return db.sql('contact.take_free', takeFreeSql, columnValues(columns, writes));
}

interface LockedRow {
  person_key: string;
  destination: string;
  owner_key: string | null;
}

const lockSql = `
SELECT c.person_key, c.destination, c.owner_key
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS i(person_key, destination, position) JOIN contact_state c ON ${person}
ORDER BY i.position FOR UPDATE OF c`;

interface OwnerRow {
  operation_key: string;
  state: OperationState;
  delivery_state: DeliveryState;
  due_ms: number | null;
}

/** Only after the lock, in a statement of its own: the owner acquired under this lock, so its rows are seen as they were then or later. */
const ownersSql = `
SELECT o.operation_key, o.state, d.state AS delivery_state, (extract(epoch FROM d.next_attempt_at - clock_now()) * 1000)::float8 AS due_ms
FROM operation o JOIN delivery d ON d.event_id = o.event_id AND d.destination = o.destination
WHERE o.operation_key = ANY ($1::text[])`;

/** Locks these persons' rows, in order, and gives for each who stands in it. */
export async function lockOwners(tx: Tx, persons: readonly ContactWrite[]): Promise<(Owner | undefined)[]> {
  const locked = await tx.sql<LockedRow>('contact.lock', lockSql, [
    persons.map(({ personKey }) => personKey),
    persons.map(({ destination }) => destination),
  ]);
  const keys = locked.map(({ owner_key: key }) => key).filter((key) => key !== null);
  const rows = keys.length === 0 ? [] : await tx.sql<OwnerRow>('contact.owners', ownersSql, [keys]);
  const owners = new Map(rows.map((row) => [row.operation_key, toOwner(row)]));
  const byPerson = new Map(locked.map((row) => [`${row.destination} ${row.person_key}`, owners.get(row.owner_key ?? '')]));
  return persons.map(({ destination, personKey }) => byPerson.get(`${destination} ${personKey}`));
}

function toOwner({ operation_key: operationKey, state, delivery_state: deliveryState, due_ms: dueMs }: OwnerRow): Owner {
  return { operationKey, state, deliveryState, dueInMs: dueMs ?? undefined };
}

/** What an owner that succeeded left: its reference, and its fields among those written. */
const succeeded = `(SELECT o.destination_ref FROM operation o WHERE o.operation_key = c.owner_key AND o.state = 'succeeded')`;
/** When the record was written last: by an owner that succeeded, else as it was. */
export const writtenAt = `greatest(c.written_at, (SELECT o.updated_at FROM operation o WHERE o.operation_key = c.owner_key AND o.state = 'succeeded'))`;
const hasSucceeded = `EXISTS (SELECT FROM operation o WHERE o.operation_key = c.owner_key AND o.state = 'succeeded')`;

const takeOverSql = `
UPDATE contact_state c
SET contact_ref = coalesce(${succeeded}, c.contact_ref), fields = CASE WHEN ${hasSucceeded} THEN ${mergedFields} ELSE c.fields END,
    written_at = ${writtenAt}, owner_key = i.operation_key, owner_hold_id = i.hold_id, owner_fields = i.fields, updated_at = clock_now()
FROM ${input} WHERE ${person}
RETURNING c.person_key, c.destination, c.contact_ref, c.fields`;

/** Makes locked rows ours, with what their owners left in them. */
export function takeOver(tx: Tx, writes: readonly HoldingWrite[]): Promise<TakenRow[]> {
  return tx.sql('contact.take_over', takeOverSql, columnValues(columns, writes));
}

/** How many deliveries wait for each of these persons' rows already; 600 at most are counted, which is the longest wait. */
export async function countWaiting(tx: Tx, persons: readonly ContactWrite[]): Promise<number[]> {
  const rows = await tx.sql<{ waiting: number }>(
    'contact.waiting',
    `SELECT (SELECT count(*)::int FROM (SELECT FROM delivery d WHERE d.destination = i.destination AND d.state = 'waiting'
       AND d.code = 'contact_busy' AND d.record_key = convert_to(i.person_key, 'UTF8') LIMIT 600) AS found) AS waiting
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS i(person_key, destination, position) ORDER BY i.position`,
    [persons.map(({ personKey }) => personKey), persons.map(({ destination }) => destination)],
  );
  return rows.map(({ waiting }) => waiting);
}
