import { z } from 'zod';
import { type DeliveryState, type FoundLead, worstDelivery } from '#contracts';
import type { Database, Hmacs, Site, Sql } from '#runtime';
import { externalRef } from '../prepare-lead.js';
import { normaliseEmail, normalisePhone } from '../submission/contact.js';
import { contactKeys, searchKey } from './contact-keys.js';

const text = z.string().min(1).max(512);
/** Absent: every organization. */
const organizations = z.array(z.string().min(1).max(200)).max(500).optional();

export const findLeadsRequest = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('event_ids'), organizations, values: z.array(z.uuid()).max(500) }),
  ...(['source_event_id', 'trace_id', 'lead_ref', 'email', 'phone'] as const).map((kind) =>
    z.object({ kind: z.literal(kind), organizations, value: text }),
  ),
]);
export type FindLeadsRequest = z.infer<typeof findLeadsRequest>;

export interface FindTools {
  db: Database;
  hmacs: Hmacs;
  site: Pick<Site, 'sources'>;
}

const most = 100;

interface LeadRow extends Omit<FoundLead, 'submitted_at' | 'state'> {
  submitted_at: Date;
  states: DeliveryState[] | null;
}

const columns = `l.event_id, l.lead_ref, l.organization, l.source, l.form, l.submitted_at, l.test,
  (select array_agg(d.state) from delivery d where d.event_id = l.event_id) as states`;
const scoped = '($1::text[] is null or l.organization = any ($1::text[]))';
const newest = `order by l.event_id desc limit ${most}`;

const byIdSql = `select ${columns} from lead l where l.event_id = any ($2::uuid[]) and ${scoped} ${newest}`;
const byTraceSql = `select ${columns} from lead l where substr(l.traceparent, 4, 32) = $2 and ${scoped} ${newest}`;
const byRefSql = `select ${columns} from lead l where l.lead_ref = $2 and ${scoped} ${newest}`;
/** What the vault keeps under one key that is looked at, newest first: leads may have several revisions. A number of a front desk is everybody's. */
const mostKept = 1_000;
/**
 * 64 bits of a key belong to one organization's key: the organization is asked for too. A corrected address stands in the vault alone, whose rows
 * go in the order in which their leads came. Each is looked up at its key: `offset 0` keeps that from becoming one reading of all leads.
 */
const byContactSql = (column: string): string => `
with kept as materialized (
  select distinct newest.lead_ref, asked.organization from unnest($2::bigint[], $3::text[]) as asked(key, organization) cross join lateral (
    select v.lead_ref from vault v where v.${column} = asked.key order by v.delete_after desc limit ${mostKept}
  ) newest
)
select ${columns} from kept cross join lateral (
  select * from lead l where l.lead_ref = kept.lead_ref and l.organization = kept.organization and ${scoped} offset 0
) l ${newest}`;

/**
 * Leads by one of their ids, or by an address of the person, read with the rules of intake and found by its keyed hash: the address itself stands
 * nowhere. What cannot be such an address finds nothing. Throws DatabaseUnavailable.
 */
export async function findLeads(tools: FindTools, request: FindLeadsRequest): Promise<FoundLead[]> {
  const { db } = tools;
  const scope = request.organizations ?? null;
  switch (request.kind) {
    case 'event_ids':
      return [
        ...(await leadsBy(db, 'id', { sql: byIdSql, values: [scope, request.values] })),
        ...(await refused(db, scope, request.values)),
      ];
    case 'source_event_id':
      return bySourceEventId(tools, request.value, request.organizations);
    case 'trace_id':
      return leadsBy(db, 'trace', { sql: byTraceSql, values: [scope, request.value.toLowerCase()] });
    case 'lead_ref':
      return leadsBy(db, 'ref', { sql: byRefSql, values: [scope, request.value.toUpperCase()] });
    default: {
      const keys = addressKeys(tools, request.kind, request);
      if (keys.length === 0) return [];
      const values = [scope, keys.map(({ key }) => String(key)), keys.map(({ organization }) => organization)];
      return leadsBy(db, request.kind, { sql: byContactSql(`${request.kind}_key`), values });
    }
  }
}

interface Statement {
  sql: string;
  values: unknown[];
}

async function leadsBy(db: Sql, name: string, { sql, values }: Statement): Promise<FoundLead[]> {
  const rows = await db.sql<LeadRow>(`intake.find_by_${name}`, sql, values);
  return rows.map(({ states, submitted_at, ...row }) => ({
    ...row,
    submitted_at: submitted_at.toISOString(),
    state: worstDelivery(states ?? []),
  }));
}

interface KeyOfOrganization {
  key: bigint;
  organization: string;
}

/**
 * Keys of a typed address in each organization that was asked for. A national number is one of every country that a source of the organization
 * writes from.
 */
export function addressKeys(
  { hmacs, site }: Pick<FindTools, 'hmacs' | 'site'>,
  kind: 'email' | 'phone',
  asked: { value: string; organizations?: string[] },
): KeyOfOrganization[] {
  const keys = new Map<string, KeyOfOrganization>();
  for (const { organization, country } of sourcesIn(site, asked.organizations)) {
    const read = kind === 'email' ? normaliseEmail(asked.value) : normalisePhone(asked.value, country);
    if (!('value' in read)) continue;
    const key = searchKey(contactKeys(hmacs, organization, { [kind]: read.value })[kind]);
    if (key !== undefined) keys.set(`${organization} ${key}`, { key, organization });
  }
  return [...keys.values()];
}

const sourcesIn = ({ sources }: Pick<Site, 'sources'>, organizations: string[] | undefined) =>
  sources.filter(({ organization }) => organizations === undefined || organizations.includes(organization));

const bySourceSql = `
select event_id from intake_key join unnest($1::text[], $2::text[], $3::text[]) as asked(organization, source, external_ref)
  using (organization, source, external_ref)
union all
select rejected_id from rejected join unnest($1::text[], $2::text[], $3::text[]) as asked(organization, source, external_ref)
  using (organization, source, external_ref)
limit ${most}`;

/** Each source hashes its ids apart, so each configured one is asked for. */
async function bySourceEventId(tools: FindTools, id: string, organizations: string[] | undefined): Promise<FoundLead[]> {
  const sources = sourcesIn(tools.site, organizations);
  const refs = sources.map(({ organization, id: source }) => externalRef(tools.hmacs, { organization, source }, id));
  const rows = await tools.db.sql<{ event_id: string }>('intake.find_by_source', bySourceSql, [
    sources.map(({ organization }) => organization),
    sources.map((source) => source.id),
    refs,
  ]);
  const values = rows.map(({ event_id }) => event_id);
  return values.length === 0 ? [] : findLeads(tools, { kind: 'event_ids', organizations, values });
}

const refusedSql = `
select rejected_id as event_id, null as lead_ref, organization, source, null as form, null as submitted_at, false as test
from rejected l where rejected_id = any ($2::uuid[]) and organization is not null and source is not null and ${scoped}`;

/** Records that were refused, by the id that the refusal got. One that names no configured source belongs to nobody and is not found. */
async function refused(db: Sql, scope: string[] | null, ids: readonly string[]): Promise<FoundLead[]> {
  const rows = await db.sql<Omit<FoundLead, 'state'>>('intake.find_refused', refusedSql, [scope, ids]);
  return rows.map((row) => ({ ...row, state: 'rejected' }));
}
