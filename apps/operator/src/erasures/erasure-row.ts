import { createHash } from 'node:crypto';
import { v7 } from 'uuid';
import type { SubjectKey } from '#contracts';
import type { Sql, Tx } from '#runtime';
import { refusals } from '../http/refusal.js';
import { mayRead, type Person } from '../people/person.js';
import type { Counts, ErasedLead, Remains } from './erasure-services.js';

export const erasureStates = ['draft', 'running', 'tasks', 'complete', 'expired'] as const;
/** `running`: not every service has acknowledged. `tasks`: all have; a person still has to delete records at destinations. */
export type ErasureState = (typeof erasureStates)[number];

export interface ErasureRow {
  erasure_id: string;
  state: ErasureState;
  kind: 'event_id' | 'email' | 'phone';
  subject_keys: SubjectKey[];
  organizations: string[];
  more: boolean;
  hash: string;
  author: string;
  approver: string | null;
  reason: string;
  created_at: Date;
  expires_at: Date;
  approved_at: Date | null;
  erased_at: Date | null;
  completed_at: Date | null;
  /** The draft is too old to be approved. */
  late: boolean;
}

export interface LeadRow extends ErasedLead {
  lead_ref: string | null;
  organization: string;
}

const columns = `erasure_id, state, kind, subject_keys, organizations, more, hash, author, approver, reason, created_at, expires_at, approved_at,
  erased_at, completed_at, state = 'draft' AND expires_at < clock_now() AS late`;
const readSql = `SELECT ${columns} FROM erasure WHERE erasure_id = $1`;

/** Throws the refusal 404 where there is none, or one with a lead that the person may not see. */
export async function readErasure(db: Sql, erasureId: string, person: Person): Promise<ErasureRow> {
  const [row] = await db.sql<ErasureRow>('operator.read_erasure', readSql, [erasureId]);
  return seenBy(row, person);
}

/** The same under a lock. */
export async function lockErasure(tx: Tx, erasureId: string, person: Person): Promise<ErasureRow> {
  const [row] = await tx.sql<ErasureRow>('operator.lock_erasure', `${readSql} FOR UPDATE`, [erasureId]);
  return seenBy(row, person);
}

function seenBy(row: ErasureRow | undefined, person: Person): ErasureRow {
  if (row === undefined || !row.organizations.every((one) => mayRead(person, one))) throw refusals.notFound();
  return row;
}

const leadsSql = `
SELECT event_id, lead_ref, organization, person_key, whole_person FROM erasure_lead WHERE erasure_id = $1 ORDER BY event_id`;

export async function leadsOf(db: Sql, erasureId: string): Promise<LeadRow[]> {
  const rows = await db.sql<LeadRow & { person_key: string | null }>('operator.erasure_leads', leadsSql, [erasureId]);
  return rows.map((row) => ({ ...row, person_key: row.person_key ?? undefined }));
}

const insertLeadsSql = `
INSERT INTO erasure_lead (erasure_id, event_id, lead_ref, organization, person_key, whole_person)
SELECT $1::uuid, * FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::bool[])`;
const addLeadsSql = `
WITH more AS (
  ${insertLeadsSql}
  ON CONFLICT (erasure_id, event_id) DO NOTHING RETURNING organization
)
UPDATE erasure SET organizations = ARRAY(SELECT unnest(organizations) UNION SELECT organization FROM more) WHERE erasure_id = $1`;
const clearSql = `
WITH leads AS (DELETE FROM erasure_lead WHERE erasure_id = $1), places AS (DELETE FROM erasure_place WHERE erasure_id = $1)
DELETE FROM erasure_task WHERE erasure_id = $1 AND done_at IS NULL`;

/** Writes what a draft lists, in place of what it listed before. */
export async function writeList(
  tx: Tx,
  erasureId: string,
  { leads, remains }: { leads: readonly LeadRow[]; remains: Remains },
): Promise<void> {
  await tx.sql('operator.erasure_clear', clearSql, [erasureId]);
  await tx.sql('operator.erasure_insert_leads', insertLeadsSql, leadValues(erasureId, leads));
  await writeCounts(tx, erasureId, { counts: remains.counts, before: true });
  await addTasks(tx, erasureId, remains.references);
}

/** Adds leads to what is being erased; one that is there already stays as it is. */
export async function addLeads(db: Sql, erasureId: string, leads: readonly LeadRow[]): Promise<void> {
  if (leads.length > 0) await db.sql('operator.erasure_add_leads', addLeadsSql, leadValues(erasureId, leads));
}

const leadValues = (erasureId: string, leads: readonly LeadRow[]): unknown[] => [
  erasureId,
  leads.map(({ event_id }) => event_id),
  leads.map(({ lead_ref }) => lead_ref),
  leads.map(({ organization }) => organization),
  leads.map(({ person_key }) => person_key ?? null),
  leads.map(({ whole_person }) => whole_person),
];

const countsSql = `
INSERT INTO erasure_place (erasure_id, place, position, before, after, counted_at)
SELECT $1::uuid, place, position, CASE WHEN $4::bool THEN count ELSE 0 END, CASE WHEN NOT $4::bool THEN count END, CASE WHEN NOT $4::bool THEN clock_now() END
FROM unnest($2::text[], $3::int[]) WITH ORDINALITY AS i(place, count, position)
ON CONFLICT (erasure_id, place) DO UPDATE SET before = greatest(erasure_place.before, excluded.after), after = excluded.after,
  counted_at = excluded.counted_at`;

/** `before`: what the draft found. What comes in between the draft and the erasure counts as found. */
export async function writeCounts(tx: Sql, erasureId: string, { counts, before }: { counts: Counts; before: boolean }): Promise<void> {
  await tx.sql('operator.erasure_counts', countsSql, [erasureId, [...counts.keys()], [...counts.values()], before]);
}

const tasksSql = `
INSERT INTO erasure_task (task_id, erasure_id, service, destination, kind, ref)
SELECT task_id, $1::uuid, service, destination, kind, ref
FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[]) AS i(task_id, service, destination, kind, ref)
ON CONFLICT (erasure_id, service, destination, kind, ref) DO NOTHING`;

/** Adds what destinations hold to the tasks; one that is there already stays as it is. */
export async function addTasks(tx: Sql, erasureId: string, references: Remains['references']): Promise<void> {
  if (references.length === 0) return;
  await tx.sql('operator.erasure_tasks', tasksSql, [
    erasureId,
    references.map(() => v7()),
    references.map(({ service }) => service),
    references.map(({ destination }) => destination),
    references.map(({ kind }) => kind),
    references.map(({ ref }) => ref),
  ]);
}

/** What an approval is bound to: which leads, and which records at destinations somebody will have to delete. */
export function erasureHash(leads: readonly LeadRow[], references: Remains['references']): string {
  const hash = createHash('sha256').update('erasure v1\n');
  for (const line of leads.map((lead) => JSON.stringify([lead.event_id, lead.whole_person])).sort()) hash.update(`${line}\n`);
  for (const line of references.map((one) => JSON.stringify([one.service, one.destination, one.kind, one.ref])).sort())
    hash.update(`${line}\n`);
  return hash.digest('hex');
}
