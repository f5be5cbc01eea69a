import { v7 } from 'uuid';
import { z } from 'zod';
import type { Tx } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import type { Person } from '../people/person.js';
import { type CorrectionRow, lockCorrection, readCorrection } from './correction-row.js';
import { judge } from './draft-correction.js';
import { lockOutBatches } from './open-work.js';
import { correctionHash } from './plan-correction.js';
import { type CorrectionTools, correctionRefusals } from './tools.js';

export const approveCorrectionRequest = z.strictObject({
  hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe('Of the draft that was looked at.'),
});

/** From the approval on: deadline of the delivery, and the last moment at which it may begin. */
const approvedFor = '4 hours';

const approveSql = `
UPDATE correction SET state = 'approved', approver = $2, approved_at = clock_now(), item_id = $3, not_after = clock_now() + interval '${approvedFor}'
WHERE correction_id = $1`;

/**
 * Approves a correction, by another person than its author and bound to what that person looked at. The destination is asked once more: where it has
 * anything else than the draft says, nothing is approved. Throws a refusal for each way in which it may not be.
 */
export async function approveCorrection(tools: CorrectionTools, correctionId: string, by: { hash: string; person: Person }): Promise<void> {
  const { db, logger } = tools;
  const draft = refuse(await readCorrection(db, correctionId, by.person), by);
  const { facts, steps } = await judge(tools, draft, draft.fields);
  if (correctionHash({ ...draft, generation: facts.generation }, steps) !== draft.hash) throw correctionRefusals.changed();
  await db.transaction((tx) => approveLocked(tx, correctionId, by));
  logger.info({ event_id: draft.event_id, destination: draft.destination, decision: 'approved' }, 'Correction approved');
}

async function approveLocked(tx: Tx, correctionId: string, by: { hash: string; person: Person }): Promise<void> {
  const { event_id, destination, organization, author, revision } = refuse(await lockCorrection(tx, correctionId, by.person), by);
  await lockOutBatches(tx, { event_id, destination });
  await tx.sql('operator.approve_correction', approveSql, [correctionId, by.person.subject, v7()]);
  const subject = { correction_id: correctionId, event_id, destination, revision, hash: by.hash, author };
  await audit(tx, { ...actor(by.person), action: 'correction.approve', organization, subject });
}

function refuse(row: CorrectionRow, { hash, person }: { hash: string; person: Person }): CorrectionRow {
  if (row.late) throw correctionRefusals.expired();
  if (row.state !== 'draft') throw correctionRefusals.state(row.state);
  if (person.subject === row.author) throw correctionRefusals.selfApproval();
  if (hash !== row.hash) throw correctionRefusals.staleHash(row.hash);
  return row;
}
