import { z } from 'zod';
import type { Sql } from '#runtime';
import type { Person } from '../people/person.js';
import { type ErasureRow, erasureStates, leadsOf, readErasure } from './erasure-row.js';

const time = z.string().nullable();

const summary = {
  erasure_id: z.uuid(),
  state: z.enum(erasureStates),
  kind: z.enum(['event_id', 'email', 'phone']).describe('What the person was named by.'),
  hash: z.string(),
  author: z.string(),
  approver: z.string().nullable(),
  reason: z.string(),
  organizations: z.array(z.string()),
  created_at: z.string(),
  expires_at: z.string(),
  approved_at: time,
  erased_at: time.describe('Every service has acknowledged.'),
  completed_at: time.describe('What destinations held is deleted there, too.'),
};

export const erasureReport = z.object({
  ...summary,
  more: z.boolean().describe('The person has more leads than one erasure takes: make another afterwards.'),
  subject_keys: z
    .array(z.object({ kind: z.string(), organization: z.string(), key: z.string() }))
    .describe('Keyed hashes; they cannot be read back.'),
  leads: z.array(z.object({ event_id: z.string(), lead_ref: z.string().nullable(), organization: z.string() })),
  places: z
    .array(
      z.object({
        place: z.string(),
        before: z.number().int(),
        after: z.number().int().nullable().describe('As counted there; null: not yet.'),
        done: z.boolean(),
      }),
    )
    .describe('What each place held, and holds now.'),
  tasks: z.array(
    z.object({
      task_id: z.string(),
      service: z.string(),
      destination: z.string(),
      kind: z.string(),
      ref: z.string(),
      done: z.boolean(),
      done_at: time,
      done_by: z.string().nullable(),
    }),
  ),
});
export type ErasureReport = z.infer<typeof erasureReport>;

const placesSql =
  'SELECT place, before, after, coalesce(after = 0, false) AS done FROM erasure_place WHERE erasure_id = $1 ORDER BY position, place';
const tasksSql = `
SELECT task_id, service, destination, kind, ref, done_at IS NOT NULL AS done, done_at, done_by FROM erasure_task WHERE erasure_id = $1
ORDER BY destination, kind, ref`;

/** Throws the refusal 404. */
export async function showErasure(db: Sql, erasureId: string, person: Person): Promise<ErasureReport> {
  const row = await readErasure(db, erasureId, person);
  const leads = await leadsOf(db, erasureId);
  const places = await db.sql<ErasureReport['places'][number]>('operator.erasure_places', placesSql, [erasureId]);
  type TaskRow = Omit<ErasureReport['tasks'][number], 'done_at'> & { done_at: Date | null };
  const tasks = await db.sql<TaskRow>('operator.erasure_task_list', tasksSql, [erasureId]);
  return {
    ...summaryOf(row),
    more: row.more,
    subject_keys: row.subject_keys,
    leads: leads.map(({ event_id, lead_ref, organization }) => ({ event_id, lead_ref, organization })),
    places,
    tasks: tasks.map((task) => ({ ...task, done_at: task.done_at?.toISOString() ?? null })),
  };
}

export const erasuresPage = z.object({ items: z.array(z.object(summary)), next: z.string().optional() });
export const erasuresQuery = z.strictObject({
  state: z.enum(erasureStates).optional(),
  after: z.uuid().optional().describe('The `next` of the page before.'),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

const listSql = `
SELECT erasure_id, state, kind, subject_keys, organizations, more, hash, author, approver, reason, created_at, expires_at, approved_at, erased_at,
  completed_at, false AS late
FROM erasure WHERE ($1::text[] IS NULL OR organizations <@ $1::text[]) AND ($2::text IS NULL OR state = $2) AND ($3::uuid IS NULL OR erasure_id < $3)
ORDER BY erasure_id DESC LIMIT $4`;

/** The newest first. */
export async function listErasures(
  db: Sql,
  { state, after, limit }: z.infer<typeof erasuresQuery>,
  person: Person,
): Promise<z.infer<typeof erasuresPage>> {
  const organizations = person.organizations === '*' ? null : person.organizations;
  const rows = await db.sql<ErasureRow>('operator.list_erasures', listSql, [organizations, state ?? null, after ?? null, limit]);
  const next = rows.length === limit ? rows.at(-1)?.erasure_id : undefined;
  return { items: rows.map(summaryOf), ...(next && { next }) };
}

const iso = (at: Date | null): string | null => at?.toISOString() ?? null;

function summaryOf(row: ErasureRow) {
  const { erasure_id, state, kind, hash, author, approver, reason, organizations } = row;
  return {
    ...{ erasure_id, state: row.late ? ('expired' as const) : state, kind, hash, author, approver, reason, organizations },
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    approved_at: iso(row.approved_at),
    erased_at: iso(row.erased_at),
    completed_at: iso(row.completed_at),
  };
}
