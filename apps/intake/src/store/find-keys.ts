import { type Column, columnValues, type Sql, unnestColumns } from '#runtime';
import type { IntakeKey } from './new-lead.js';

/** The lead that a key was first used for. */
export interface StoredKey {
  /** Place of the key among those asked for. */
  index: number;
  eventId: string;
  leadRef: string;
  fingerprint: string;
}

const keyColumns: readonly Column<IntakeKey>[] = [
  ['organization', 'text', (key) => key.organization],
  ['source', 'text', (key) => key.source],
  ['external_ref', 'text', (key) => key.externalRef],
];

const sql = `
select (asked.position - 1)::int as index, intake_key.event_id as "eventId", intake_key.lead_ref as "leadRef", intake_key.fingerprint
from ${unnestColumns('asked', keyColumns)}
join intake_key using (organization, source, external_ref)`;

/** Finds the leads behind keys that exist. Run it after the insert that left them out: its own snapshot cannot see what it waited for. */
export async function findKeys(db: Sql, keys: readonly IntakeKey[]): Promise<StoredKey[]> {
  return keys.length === 0 ? [] : db.sql<StoredKey>('intake.find_keys', sql, columnValues(keyColumns, keys));
}
