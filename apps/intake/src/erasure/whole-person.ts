import type { SubjectLead } from '#contracts';
import type { KeyRing, Sql } from '#runtime';
import { readVault } from '../vault/read-vault.js';

export interface SubjectRow {
  event_id: string;
  /** Null of a refused record. */
  lead_ref: string | null;
  organization: string;
  source: string;
}

export interface PersonTools {
  db: Sql;
  ring: KeyRing;
}

/**
 * A lead is delivered under its e-mail address, or its phone number where it has none, as they were at first: a correction leaves the person that
 * destinations know. Another lead kept under the same one keeps the person. The vault says it, since it outlives the lead.
 */
const personSql = `
with own as materialized (
  select asked.event_id, asked.lead_ref, v.email_key, v.phone_key, convert_from(l.record_key, 'UTF8') as person_key
  from unnest($1::uuid[], $2::text[]) as asked(event_id, lead_ref)
    left join vault v on v.lead_ref = asked.lead_ref and v.revision = 1
    left join lead l on l.event_id = asked.event_id
)
select own.event_id, own.person_key, lpad(to_hex(coalesce(own.email_key, own.phone_key)), 16, '0') as half_key, not exists (
  select from vault v where v.email_key = own.email_key and v.revision = 1 and not v.lead_ref = any ($2::text[])
) and (own.email_key is not null or not exists (
  select from vault v where v.phone_key = own.phone_key and v.email_key is null and v.revision = 1 and not v.lead_ref = any ($2::text[])
)) as whole_person
from own`;

interface Person {
  event_id: string;
  /** Null where the lead is purged, empty where it was erased. */
  person_key: string | null;
  /** The first 16 digits of it, as the vault is searched by. */
  half_key: string | null;
  whole_person: boolean;
}

/**
 * Says of each lead under which key destinations know its person, and whether nothing else is kept of that person. A refused record names no
 * person. Throws DatabaseUnavailable.
 */
export async function withPerson(tools: PersonTools, rows: readonly SubjectRow[]): Promise<SubjectLead[]> {
  const leads = rows.flatMap(({ event_id, lead_ref }) => (lead_ref === null ? [] : [{ event_id, lead_ref }]));
  const values = [leads.map(({ event_id }) => event_id), leads.map(({ lead_ref }) => lead_ref)];
  const found = await tools.db.sql<Person>('intake.subject_person', personSql, values);
  const byId = new Map(found.map((one) => [one.event_id, one]));
  const purged = leads.filter(({ event_id }) => byId.get(event_id)?.person_key == null).map(({ lead_ref }) => lead_ref);
  const sealed = await sealedPersons(tools, purged);
  return rows.map((row) => {
    const person = byId.get(row.event_id);
    const key = person?.person_key ?? sealed.get(row.lead_ref ?? '') ?? person?.half_key;
    return { ...row, whole_person: person?.whole_person ?? false, ...(key && { person_key: key }) };
  });
}

/** By lead reference, of leads that are purged: only the sealed payload names the person then. Of one that cannot be opened half of the key is known. */
async function sealedPersons(tools: { db: Sql; ring: KeyRing }, leadRefs: readonly string[]): Promise<Map<string, string>> {
  if (leadRefs.length === 0) return new Map();
  const items = await readVault(tools, leadRefs);
  return new Map(items.flatMap((item) => (item.status === 200 ? [[item.lead_ref, item.payload.person_key] as const] : [])));
}
