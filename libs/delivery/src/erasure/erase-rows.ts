import type { DestinationReference, OwnerEraseAnswer } from '#contracts';
import { type Column, columnValues, type Sql, type Tx, unnestColumns } from '#runtime';

export interface ErasedLead {
  eventId: string;
  personKey?: string;
  wholePerson: boolean;
}

const columns: readonly Column<ErasedLead>[] = [
  ['event_id', 'uuid', ({ eventId }) => eventId],
  ['person_key', 'text', ({ personKey }) => personKey],
  ['whole', 'bool', ({ wholePerson }) => wholePerson],
];

/**
 * `persons`: whose rows in `contact_state` go. A delivery knows the person by the key of its record, as long as it has it. Of some only the first half of the
 * key is known: 64 bits, which no two people of an installation share.
 */
const withLeads = `
leads AS MATERIALIZED (SELECT * FROM ${unnestColumns('i', columns)}),
persons AS MATERIALIZED (
  SELECT person_key FROM leads WHERE whole AND person_key IS NOT NULL
  UNION
  SELECT c.person_key FROM leads
    JOIN contact_state c ON c.person_key BETWEEN leads.person_key || repeat('0', 16) AND leads.person_key || repeat('f', 16)
  WHERE whole AND length(leads.person_key) = 16
  UNION
  SELECT convert_from(d.record_key, 'UTF8') FROM delivery d JOIN leads USING (event_id) WHERE whole AND d.record_key <> ''
)`;

const countSql = `
WITH ${withLeads}, own AS MATERIALIZED (
  SELECT d.state, d.record_key IS NOT NULL AS keyed,
    d.state IN ('in_flight', 'uncertain') OR EXISTS (
      SELECT FROM operation o WHERE o.operation_key = ANY (d.operation_keys) AND o.state IN ('in_flight', 'uncertain')) AS unfinished
  FROM delivery d JOIN leads USING (event_id)
)
SELECT (SELECT count(*)::int FROM own WHERE NOT unfinished AND state NOT IN ('delivered', 'discarded', 'erased')) AS open,
  (SELECT count(*)::int FROM own WHERE unfinished) AS unfinished,
  (SELECT count(*)::int FROM own WHERE keyed) AS person_keys,
  (SELECT count(*)::int FROM contact_state WHERE person_key IN (SELECT person_key FROM persons)) AS contacts`;

/** What this service keeps of the leads now. */
export async function countOwned(db: Sql, leads: readonly ErasedLead[]): Promise<OwnerEraseAnswer['places']> {
  const [row] = await db.sql<OwnerEraseAnswer['places']>('erase.count', countSql, columnValues(columns, leads));
  return row ?? { open: 0, unfinished: 0, person_keys: 0, contacts: 0 };
}

/**
 * The record of a person who has other leads stays: it is theirs as well. A call without an answer, or with one that does not say that nothing was done,
 * may have left a record without a reference: somebody has to look for it by the event id.
 */
const referencesSql = `
WITH ${withLeads}
SELECT o.destination, o.kind, o.destination_ref AS ref FROM operation o JOIN delivery d ON o.operation_key = ANY (d.operation_keys)
  JOIN leads ON leads.event_id = d.event_id
WHERE o.destination_ref IS NOT NULL AND (o.kind <> 'contact' OR leads.whole)
UNION
SELECT o.destination, o.kind, 'external_id:' || o.event_id FROM operation o JOIN delivery d ON o.operation_key = ANY (d.operation_keys)
  JOIN leads ON leads.event_id = d.event_id
WHERE o.destination_ref IS NULL AND o.state <> 'succeeded' AND (o.kind <> 'contact' OR leads.whole) AND EXISTS (
  SELECT FROM attempt a WHERE a.operation_key = o.operation_key AND a.outcome IN ('uncertain', 'transient', 'lease_expired')
    AND a.status IS DISTINCT FROM 429)
UNION
SELECT destination, 'contact', contact_ref FROM contact_state
WHERE contact_ref IS NOT NULL AND person_key IN (SELECT person_key FROM persons)
ORDER BY 1, 2, 3`;

/** What destinations gave these leads as references, and the person whose only leads they are. */
export function referencesOf(db: Sql, leads: readonly ErasedLead[]): Promise<DestinationReference[]> {
  return db.sql<DestinationReference>('erase.references', referencesSql, columnValues(columns, leads));
}

/** A person's row is somebody's while that operation is open. The row of a person with anything unfinished stays: it is the lock of it. */
const contactsSql = `
WITH ${withLeads}, busy AS MATERIALIZED (
  SELECT DISTINCT convert_from(d.record_key, 'UTF8') AS person_key FROM delivery d JOIN leads USING (event_id)
  WHERE d.record_key IS NOT NULL AND d.state NOT IN ('delivered', 'discarded', 'erased')
)
DELETE FROM contact_state c
WHERE c.person_key IN (SELECT person_key FROM persons) AND c.person_key NOT IN (SELECT person_key FROM busy)
  AND NOT EXISTS (
    SELECT FROM operation o WHERE o.operation_key = c.owner_key
      AND o.state NOT IN ('succeeded', 'dead', 'expired', 'discarded', 'erased'))
RETURNING 1 AS gone`;

/** All rows of a lead at once: the last one that is unfinished keeps the key for the others, which are looked up by it. */
const keysSql = `
WITH leads AS MATERIALIZED (SELECT * FROM ${unnestColumns('i', columns)}),
locked AS MATERIALIZED (
  SELECT d.event_id, d.destination FROM delivery d JOIN leads USING (event_id)
  WHERE d.record_key IS NOT NULL AND d.state IN ('delivered', 'discarded', 'erased')
    AND NOT EXISTS (SELECT FROM delivery o WHERE o.event_id = d.event_id AND o.state NOT IN ('delivered', 'discarded', 'erased'))
  ORDER BY d.event_id, d.destination FOR UPDATE OF d
)
UPDATE delivery d SET record_key = NULL FROM locked l WHERE d.event_id = l.event_id AND d.destination = l.destination
RETURNING 1 AS gone`;

/** Forgets the persons of leads of which nothing is unfinished. Gives the number of rows. */
export async function forgetPersons(tx: Tx, leads: readonly ErasedLead[]): Promise<number> {
  const contacts = await tx.sql('erase.contacts', contactsSql, columnValues(columns, leads));
  const keys = await tx.sql('erase.keys', keysSql, columnValues(columns, leads));
  return contacts.length + keys.length;
}
