import { z } from 'zod';
import type { Tx } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import { type Refusal, refusals } from '../http/refusal.js';
import type { Person } from '../people/person.js';
import { type ErasureTools, type Listed, listSubject } from './draft-erasure.js';
import { type ErasureRow, leadsOf, lockErasure, readErasure, writeList } from './erasure-row.js';

export const approveErasureRequest = z.strictObject({
  hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe('Of the list that was looked at.'),
});

const conflicts = {
  state: (state: string): Refusal => refusals.conflict('erasure-not-a-draft', `The erasure is ${state} already`, { state }),
  expired: (): Refusal => refusals.conflict('draft-expired', 'The draft is too old to decide by: make another'),
  selfApproval: (): Refusal => refusals.conflict('self-approval', 'The author of an erasure cannot approve it: a second person has to'),
  staleHash: (hash: string): Refusal =>
    refusals.conflict('stale-hash', 'There is more or less to erase than what you looked at: look again', { hash }),
};

const approveSql = `
UPDATE erasure SET state = 'running', approver = $2, approved_at = clock_now() WHERE erasure_id = $1 AND state = 'draft' RETURNING erasure_id`;
const relistSql = 'UPDATE erasure SET hash = $2, more = $3 WHERE erasure_id = $1';

/**
 * Approves exactly what was listed, by another person than the author. The list is made anew first: where it has changed, the draft shows the new one
 * and nothing is approved. Throws a refusal for each way in which it may not be.
 */
export async function approveErasure(tools: ErasureTools, erasureId: string, by: { hash: string; person: Person }): Promise<void> {
  const { db, logger } = tools;
  const draft = refuse(await readErasure(db, erasureId, by.person), by);
  const listed = await listSubject(tools, await queryOf(tools, draft), scopeOf(draft));
  const changed = await db.transaction(async (tx) => approveLocked(tx, { erasureId, listed, ...by }));
  // Thrown here, so that the new list stays.
  if (changed) throw conflicts.staleHash(listed.hash);
  logger.info({ count: listed.leads.length, decision: 'approved' }, 'Erasure approved');
}

interface Approval {
  erasureId: string;
  listed: Listed;
  hash: string;
  person: Person;
}

/** True: the list is another now, and stands in the draft. */
async function approveLocked(tx: Tx, { erasureId, listed, hash, person }: Approval): Promise<boolean> {
  const row = refuse(await lockErasure(tx, erasureId, person), { hash, person });
  await writeList(tx, erasureId, listed);
  if (listed.hash !== row.hash) {
    await tx.sql('operator.relist_erasure', relistSql, [erasureId, listed.hash, listed.more]);
    return true;
  }
  await tx.sql('operator.approve_erasure', approveSql, [erasureId, person.subject]);
  const organization = row.organizations.length === 1 ? row.organizations[0] : null;
  const subject = { erasure_id: erasureId, hash, leads: listed.leads.length, author: row.author };
  await audit(tx, { ...actor(person), action: 'erasure.approve', organization, subject });
  return false;
}

function refuse(row: ErasureRow, { hash, person }: { hash: string; person: Person }): ErasureRow {
  if (row.late) throw conflicts.expired();
  if (row.state !== 'draft') throw conflicts.state(row.state);
  if (person.subject === row.author) throw conflicts.selfApproval();
  if (hash !== row.hash) throw conflicts.staleHash(row.hash);
  return row;
}

/** A lead alone is asked for by its id, or by that of the refused record that it came from; a person by the keys that the address came to: the address itself is not known any more. */
async function queryOf({ db }: ErasureTools, { erasure_id, kind, subject_keys }: ErasureRow) {
  if (kind !== 'event_id') return { kind: 'keys' as const, keys: subject_keys };
  const leads = await leadsOf(db, erasure_id);
  const asked = leads.find(({ lead_ref }) => lead_ref === null) ?? leads[0];
  return { kind, value: asked?.event_id ?? '' };
}

/** What the author might see, not more: an approver of other organizations approves what was listed. */
const scopeOf = ({ organizations }: ErasureRow): string[] => organizations;
