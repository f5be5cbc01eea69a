import type { Database } from '#runtime';
import { mergedFields, writtenAt } from './contact-rows.js';

/** Where the last batch ended. */
export interface TidyCursor {
  personKey: string;
  destination: string;
}

export const tidyBeginning: TidyCursor = { personKey: '', destination: '' };

/** A person who did not come back for so long is a new one: as long as intake remembers a submission. */
const contactRetentionMs = 400 * 86_400_000;
/** Until what nobody settled is taken for forgotten. */
const forgottenMs = 600_000;

/**
 * Settles what a process that died left unsettled, before its operation is purged and the reference with it; forgets people after their time.
 * A row whose owner is open stays as it is.
 */
const tidySql = `
WITH clock AS MATERIALIZED (SELECT clock_now() AS now),
seen AS MATERIALIZED (
  SELECT person_key, destination, owner_key FROM contact_state WHERE (person_key, destination) > ($1, $2)
  ORDER BY person_key, destination LIMIT $3
),
settled AS (
  UPDATE contact_state c
  SET owner_key = NULL, owner_hold_id = NULL, owner_fields = NULL, written_at = ${writtenAt},
    contact_ref = CASE WHEN o.state = 'succeeded' THEN coalesce(o.destination_ref, c.contact_ref) ELSE c.contact_ref END,
    fields = CASE WHEN o.state = 'succeeded' THEN ${mergedFields} ELSE c.fields END
  FROM seen s JOIN operation o ON o.operation_key = s.owner_key, clock
  WHERE c.person_key = s.person_key AND c.destination = s.destination AND c.owner_key = s.owner_key
    AND o.state IN ('succeeded', 'dead', 'expired', 'discarded', 'erased')
    AND c.updated_at < now - ${forgottenMs} * interval '1 millisecond'
  RETURNING c.person_key
),
gone AS (
  DELETE FROM contact_state c USING seen s, clock
  WHERE c.person_key = s.person_key AND c.destination = s.destination AND c.owner_key IS NULL
    AND c.updated_at < now - $4::float8 * interval '1 millisecond'
  RETURNING c.person_key
)
SELECT (SELECT count(*)::int FROM settled) AS settled, (SELECT count(*)::int FROM gone) AS gone, (SELECT count(*)::int FROM seen) AS seen,
  last.person_key, last.destination
FROM (SELECT 1) AS one
  LEFT JOIN (SELECT person_key, destination FROM seen ORDER BY person_key DESC, destination DESC LIMIT 1) AS last ON true`;

interface TidyRow {
  settled: number;
  gone: number;
  seen: number;
  person_key: string | null;
  destination: string | null;
}

export interface TidiedBatch {
  settled: number;
  gone: number;
  /** Where to go on; absent: the end was reached. */
  next?: TidyCursor;
}

/** Tidies one batch of people. */
export async function tidyContacts(db: Database, { after, limit }: { after: TidyCursor; limit: number }): Promise<TidiedBatch> {
  const [row] = await db.sql<TidyRow>('contact.tidy', tidySql, [after.personKey, after.destination, limit, contactRetentionMs]);
  const { settled = 0, gone = 0, seen = 0 } = row ?? {};
  if (!row?.person_key || seen < limit) return { settled, gone };
  return { settled, gone, next: { personKey: row.person_key, destination: row.destination ?? '' } };
}
