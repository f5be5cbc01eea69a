import { z } from 'zod';
import type { ActivateAnswer } from '#contracts';
import type { Database } from '#runtime';

export const activateRequest = z.object({ correction_id: z.uuid(), lead_ref: z.string().min(1).max(64), revision: z.int().min(2) });
export type ActivateRequest = z.infer<typeof activateRequest>;

/**
 * The next revision alone may follow: another correction that came first makes this one stale. It is kept as long as the lead's first, and consent that was
 * withdrawn stays so, also where that is happening just now. The keys of the lead are those that it is found by from now on.
 */
const activateSql = `
with pending as (
  delete from pending_revision p where p.correction_id = $1 and p.lead_ref = $2 and p.revision = $3
    and p.revision = (select max(v.revision) + 1 from vault v where v.lead_ref = p.lead_ref)
  returning *
), made as (
  insert into vault (lead_ref, revision, key_id, wrapped_key, sealed, email_key, phone_key, delete_after, consent_withdrawn_at)
  select p.lead_ref, p.revision, p.key_id, p.wrapped_key, p.sealed, p.email_key, p.phone_key, v.delete_after, v.consent_withdrawn_at
  from pending p join vault v on v.lead_ref = p.lead_ref and v.revision = p.revision - 1
  for share of v
  returning lead_ref
), found as (
  update lead l set email_key = p.email_key, phone_key = p.phone_key from pending p where l.lead_ref = p.lead_ref
)
select (select count(*)::int from made) as made, exists (select from pending_revision where correction_id = $1) as pending,
  (select max(revision) from vault where lead_ref = $2) as revision`;

/** Makes a proposed revision the lead's own. To repeat it changes nothing. Throws DatabaseUnavailable. */
export async function activateRevision(db: Database, { correction_id, lead_ref, revision }: ActivateRequest): Promise<ActivateAnswer> {
  const [row] = await db.sql<{ made: number; pending: boolean; revision: number | null }>('intake.activate_revision', activateSql, [
    correction_id,
    lead_ref,
    revision,
  ]);
  if (row?.made === 1) return { result: 'active' };
  if (row?.revision == null) return { result: 'gone' };
  // Nothing is proposed any more, and the lead has that revision: it was done before.
  return { result: !row.pending && row.revision >= revision ? 'active' : 'stale' };
}

const withdrawSql = 'delete from pending_revision where correction_id = $1';

/** Forgets what was proposed and will not be approved. */
export async function withdrawRevision(db: Database, correctionId: string): Promise<void> {
  await db.sql('intake.withdraw_revision', withdrawSql, [correctionId]);
}
