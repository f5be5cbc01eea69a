import type { IntakePlaces } from '#contracts';
import type { Sql } from '#runtime';

/** $1: event ids, or ids of refusals. A refusal belongs to a lead that it names, and to the lead that the same submission id was used for. */
export const ofLeadsSql = `
asked as materialized (
  select id, (('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint)::float8 as ms from unnest($1::uuid[]) as id
), keyed as materialized (
  select k.* from asked join intake_key k on k.event_id = asked.id
    and k.accepted_at between to_timestamp((asked.ms - 1) / 1000) and to_timestamp((asked.ms + 1) / 1000)
), refused as materialized (
  select rejected_id from rejected where rejected_id in (select id from asked) or event_id in (select id from asked)
  union
  select r.rejected_id from rejected r join keyed using (organization, source, external_ref)
)`;

const sql = `
with ${ofLeadsSql}
select (select count(*)::int from vault where lead_ref in (select lead_ref from keyed)) as vault_revisions,
  (select count(*)::int from rejected where rejected_id in (select rejected_id from refused) and sealed <> '') as rejected_records,
  (select count(*)::int from lead where event_id in (select id from asked)
    and (email_key is not null or phone_key is not null or record_key <> '')) as search_keys,
  (select count(*)::int from pending_revision where lead_ref in (select lead_ref from keyed)) as pending_revisions,
  (select count(*)::int from delivery where event_id in (select id from asked) and state = 'accepted' and claimed_at is null) as unclaimed`;

/** What is kept of these leads and refusals now. Throws DatabaseUnavailable. */
export async function countPlaces(db: Sql, eventIds: readonly string[]): Promise<IntakePlaces> {
  const [row] = await db.sql<IntakePlaces>('intake.count_places', sql, [eventIds]);
  return row ?? { vault_revisions: 0, rejected_records: 0, search_keys: 0, pending_revisions: 0, unclaimed: 0 };
}
