import type { LeadSource } from '#delivery';
import type { Sql } from '#runtime';

const sql = 'select event_id, organization, source from lead where event_id = any ($1::uuid[])';

/** Whose leads these are; one that intake never accepted, or keeps no more, is left out. Throws DatabaseUnavailable. */
export function leadSources(db: Sql, eventIds: readonly string[]): Promise<LeadSource[]> {
  return db.sql<LeadSource>('intake.lead_sources', sql, [eventIds]);
}
