import { z } from 'zod';
import type { SubjectAnswer, SubjectKey } from '#contracts';
import type { Database } from '#runtime';
import { addressKeys, type FindTools } from '../search/find-leads.js';
import { countPlaces } from './count-places.js';
import { type PersonTools, type SubjectRow, withPerson } from './whole-person.js';

/** Leads of one erasure at most; a person with more is erased in several. */
export const mostLeads = 1_000;

const organizations = z.array(z.string().min(1).max(200)).max(500).optional();
const key = z.object({ kind: z.enum(['email', 'phone']), organization: z.string(), key: z.string().regex(/^-?\d{1,19}$/) });

export const findSubjectRequest = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('event_id'), organizations, value: z.uuid().transform((id) => id.toLowerCase()) }),
  z.object({ kind: z.enum(['email', 'phone']), organizations, value: z.string().trim().min(1).max(512) }),
  /** The keys that an earlier answer gave. */
  z.object({ kind: z.literal('keys'), organizations, keys: z.array(key).min(1).max(500) }),
]);
export type FindSubjectRequest = z.infer<typeof findSubjectRequest>;

export type SubjectTools = FindTools & Omit<PersonTools, 'db'>;

const scoped = '($1::text[] is null or organization = any ($1::text[]))';

/**
 * The key outlives the lead and says which lead it is; both are found by the time of acceptance that the event id carries. A refused record that
 * became a lead belongs to it, whichever of the two is asked for.
 */
const byIdSql = `
with asked as materialized (
  select $2::uuid as id union select accepted_as from rejected where rejected_id = $2::uuid and accepted_as is not null
), timed as materialized (
  select id, (('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint)::float8 as ms from asked
)
select k.event_id, k.lead_ref, k.organization, k.source from timed join intake_key k on k.event_id = timed.id
  and k.accepted_at between to_timestamp((timed.ms - 1) / 1000) and to_timestamp((timed.ms + 1) / 1000)
where ${scoped}
union
select rejected_id, null, organization, source from rejected
where (rejected_id = $2::uuid or (event_id = $2::uuid and accepted_as = $2::uuid)) and organization is not null and source is not null
  and ${scoped}`;

/**
 * By what the vault keeps, for as long as it keeps it; the key of the lead was made at the same moment, 400 days before the vault row goes. Keys are
 * not indexed by lead: each is looked for at its own moment, and `offset 0` keeps that from becoming one scan of all of them. A corrected revision
 * has its own addresses: one that matches is enough. A refused record is its own person's, also where the id it
 * reused is another person's lead.
 */
const byKeysSql = `
with asked as materialized (
  select * from unnest($2::text[], $3::text[], $4::bigint[]) as asked(kind, organization, key)
), kept as materialized (
  select distinct lead_ref, delete_after from vault where email_key = any ($5::bigint[]) or phone_key = any ($6::bigint[])
)
select k.event_id, k.lead_ref, k.organization, k.source from kept cross join lateral (
  select event_id, lead_ref, organization, source from intake_key
  where lead_ref = kept.lead_ref
    and accepted_at between kept.delete_after - interval '400 days 1 second' and kept.delete_after - interval '399 days 86399 seconds'
  offset 0
) k
where k.organization in (select organization from asked) and ($1::text[] is null or k.organization = any ($1::text[]))
union
select r.rejected_id, null, r.organization, r.source from rejected r
where (r.email_key = any ($5::bigint[]) or r.phone_key = any ($6::bigint[])) and r.source is not null
  and exists (select from asked where asked.organization = r.organization
    and asked.key = case asked.kind when 'email' then r.email_key else r.phone_key end)
  and ($1::text[] is null or r.organization = any ($1::text[]))
order by event_id limit ${mostLeads + 1}`;

/** Everything of one person, or one lead alone. The address itself is hashed at once and stands nowhere. Throws DatabaseUnavailable. */
export async function findSubject(tools: SubjectTools, request: FindSubjectRequest): Promise<SubjectAnswer> {
  const { db } = tools;
  const scope = request.organizations ?? null;
  const keys = keysOf(tools, request);
  const found =
    request.kind === 'event_id'
      ? await db.sql<SubjectRow>('intake.subject_by_id', byIdSql, [scope, request.value])
      : await byKeys(db, scope, keys);
  const rows = found.slice(0, mostLeads);
  const leads = await withPerson(tools, rows);
  const places = await countPlaces(
    db,
    rows.map(({ event_id }) => event_id),
  );
  return { keys, leads, places, more: found.length > mostLeads };
}

function keysOf(tools: FindTools, request: FindSubjectRequest): SubjectKey[] {
  if (request.kind === 'event_id') return [];
  if (request.kind === 'keys') return request.keys;
  const { kind } = request;
  return addressKeys(tools, kind, request).map(({ organization, key }) => ({ kind, organization, key: String(key) }));
}

async function byKeys(db: Database, scope: string[] | null, keys: readonly SubjectKey[]): Promise<SubjectRow[]> {
  if (keys.length === 0) return [];
  const of = (kind: SubjectKey['kind']) => keys.filter((one) => one.kind === kind).map(({ key }) => key);
  const values = [scope, keys.map(({ kind }) => kind), keys.map(({ organization }) => organization), keys.map(({ key }) => key)];
  return db.sql<SubjectRow>('intake.subject_by_keys', byKeysSql, [...values, of('email'), of('phone')]);
}
