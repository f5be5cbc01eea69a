import { z } from 'zod';
import { duration, metrics, StatementFailed, type Tx } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import type { Person } from '../people/person.js';
import { settledSince } from '../reconciliation/settled-since.js';
import { type BatchRow, changeState, eachPage, isAuthor, lockBatch, organizationOf } from './batch-row.js';
import { checkValidMs, refuseCorrected, takenByOthers } from './check-batch.js';
import { next } from './machine/batch-state.js';
import { canarySize } from './machine/send-schedule.js';
import { batchRefusals } from './refusals.js';
import { refuseBeyondAlone } from './single-operator.js';
import type { BatchTools } from './tools.js';

const hourMs = 3_600_000;

export const approveBatchRequest = z.strictObject({
  /** Of the batch that was looked at. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** `single_operator`: the author may approve, where the site has that policy and few enough items are under way or of the last hour. */
  policy: z.enum(['second_person', 'single_operator']).default('second_person'),
  /** The batch has to begin within this time. */
  valid_for: duration
    .refine((ms) => ms >= 1_000 && ms <= 24 * hourMs, { params: { problem: 'is no useful time', fix: 'Write 1s to 24h' } })
    .default(4 * hourMs),
});
export type ApproveBatchRequest = z.infer<typeof approveBatchRequest>;

export interface ApprovedBatch {
  batch_id: string;
  state: 'approved';
  hash: string;
  approver: string;
  policy: string;
  /** Items that are sent. */
  approved: number;
  skipped: number;
  canary: number;
  expires_at: string;
  /** New deadline of every item. */
  deadline_at: string;
}

/**
 * Approves the eligible items of a batch, and reserves them: from now on they are in no other batch. Bound to the hash, by another person than
 * the author and who edited it last, or by the policy for one person alone, for a time. Throws a refusal for each way in which that is not so.
 */
export async function approveBatch(
  tools: BatchTools,
  batchId: string,
  { request, person }: { request: ApproveBatchRequest; person: Person },
): Promise<ApprovedBatch> {
  const { db, logger } = tools;
  await refuseSettled(tools, batchId, person);
  const approved = await db
    .transaction(async (tx) => approveLocked(tx, tools, { batch: await lockBatch(tx, batchId, person), request, person }))
    .catch(async (error: unknown) => {
      if (!(error instanceof StatementFailed) || error.code !== uniqueViolation) throw error;
      // Another approval took one of the items between our look and our write.
      const other = await takenByOthers(db, batchId);
      throw other === undefined ? error : batchRefusals.otherBatch(other.batch_id, other.count);
    });
  metrics.replayItems.inc({ outcome: 'approved' }, approved.approved);
  logger.info({ batch_id: batchId, count: approved.approved, rows: approved.skipped, policy: approved.policy }, 'Replay batch approved');
  return approved;
}

const discrepanciesSql = `
SELECT DISTINCT unnest(discrepancy_ids) AS id FROM replay_item WHERE batch_id = $1 AND state = 'listed' AND verdict = 'eligible'`;

/** Somebody may have accepted since the dry run what the batch would repair. Whoever does so later is heard before each item is sent. */
async function refuseSettled({ db, reconciler }: BatchTools, batchId: string, person: Person): Promise<void> {
  const rows = await db.sql<{ id: string }>('operator.batch_discrepancies', discrepanciesSql, [batchId]);
  const settled = await settledSince(
    reconciler,
    rows.map(({ id }) => id),
  );
  if (settled.size === 0) return;
  // Whoever may not see the batch is told that alone.
  await db.transaction((tx) => lockBatch(tx, batchId, person));
  throw batchRefusals.settledSince(settled.size);
}

const uniqueViolation = '23505';

interface ToApprove {
  batch: BatchRow;
  request: ApproveBatchRequest;
  person: Person;
}

const open = {
  name: 'operator.open_batch_items',
  text: `
UPDATE replay_item SET state = 'open', detail = NULL
WHERE batch_id = $1 AND state = 'listed' AND verdict = 'eligible' AND position > $2 AND position <= $3`,
};
const skip = {
  name: 'operator.skip_batch_items',
  text: `
UPDATE replay_item SET state = 'skipped', closed_at = clock_now()
WHERE batch_id = $1 AND state = 'listed' AND position > $2 AND position <= $3`,
};
const canarySql = `
UPDATE replay_item SET canary = true WHERE batch_id = $1 AND position IN (
  SELECT position FROM replay_item WHERE batch_id = $1 AND state = 'open' ORDER BY position LIMIT $2)`;
/** Letters that a person has closed as dealt with since the dry run. */
const dismissedSql = `
UPDATE replay_item i SET verdict = 'not_replayable', detail = 'dismissed' FROM dead_letter d
WHERE i.batch_id = $1 AND i.state = 'listed' AND i.verdict = 'eligible' AND d.dead_letter_id = i.dead_letter_id AND d.closed_as = 'dismissed'`;
const eligibleSql = `
SELECT count(*) FILTER (WHERE verdict = 'eligible')::int AS eligible, count(*)::int AS items, coalesce(max(position), 0) AS last
FROM replay_item WHERE batch_id = $1 AND state = 'listed'`;
const approveSql = `
UPDATE replay_batch SET approver = $2, approved_by = $3, policy = $4, canary_size = $5, approved_at = clock_now(),
  approval_expires_at = clock_now() + $6::float8 * interval '1 millisecond',
  not_after = clock_now() + new_deadline_ms * interval '1 millisecond', deadline_at = clock_now() + new_deadline_ms * interval '1 millisecond'
WHERE batch_id = $1 RETURNING approval_expires_at, deadline_at`;

async function approveLocked(tx: Tx, tools: BatchTools, { batch, request, person }: ToApprove): Promise<ApprovedBatch> {
  const batchId = batch.batch_id;
  await tx.sql('operator.leave_dismissed', dismissedSql, [batchId]);
  const [counted] = await tx.sql<{ eligible: number; items: number; last: number }>('operator.eligible_items', eligibleSql, [batchId]);
  const { eligible = 0, items = 0, last = 0 } = counted ?? {};
  refuse(tools, { batch, request, person }, eligible);
  if (request.policy === 'single_operator') await refuseBeyondAlone(tx, tools.site, { person, eligible });
  const other = await takenByOthers(tx, batchId);
  if (other !== undefined) throw batchRefusals.otherBatch(other.batch_id, other.count);
  await eachPage(tx, open, { batchId, last });
  // Whoever approves a correction of one of them from now on waits for this approval.
  await refuseCorrected(tx, batchId, 'open');
  if (eligible < items) await eachPage(tx, skip, { batchId, last });
  const canary = Math.min(eligible, batch.canary_wanted ?? canarySize(eligible));
  await tx.sql('operator.choose_canary', canarySql, [batchId, canary]);
  await changeState(tx, batch, { event: 'approve' });
  const values = [batchId, person.subject, actor(person).caller, request.policy, canary, request.valid_for];
  const [times] = await tx.sql<{ approval_expires_at: Date; deadline_at: Date }>('operator.approve_batch', approveSql, values);
  const expires_at = times?.approval_expires_at.toISOString() ?? '';
  const subject = { batch_id: batchId, hash: batch.hash, policy: request.policy, items: eligible, expires_at };
  await audit(tx, { ...actor(person), action: 'batch.approve', organization: organizationOf(batch), subject });
  return {
    batch_id: batchId,
    state: 'approved',
    hash: batch.hash,
    approver: person.subject,
    policy: request.policy,
    approved: eligible,
    skipped: items - eligible,
    canary,
    expires_at,
    deadline_at: times?.deadline_at.toISOString() ?? '',
  };
}

function refuse({ site }: BatchTools, { batch, request, person }: ToApprove, eligible: number): void {
  const step = next({ state: batch.state }, 'approve');
  if (!step.ok) throw batchRefusals.state(step.refusal, batch.state);
  if (request.hash !== batch.hash) throw batchRefusals.staleHash(batch.hash);
  if (request.policy === 'single_operator') {
    if (site.operator.policies.singleOperator === undefined) throw batchRefusals.policyOff();
  } else if (isAuthor(batch, person)) throw batchRefusals.selfApproval();
  if (batch.checked_at === null || batch.now.getTime() - batch.checked_at.getTime() > checkValidMs) throw batchRefusals.dryRunExpired();
  if (eligible === 0) throw batchRefusals.nothingEligible();
}
