import { z } from 'zod';
import { reasonText } from '#delivery';
import type { Tx } from '#runtime';
import { actor, audit } from '../audit/audit.js';
import type { Person } from '../people/person.js';
import { batchHash, type HashedItem } from './batch-hash.js';
import {
  type BatchRow,
  capsOf,
  changeState,
  eachPage,
  isOwnWork,
  lastPosition,
  lockBatch,
  organizationOf,
  waitsForWord,
} from './batch-row.js';
import type { EditRequest } from './filter.js';
import type { BatchState } from './machine/batch-state.js';
import { batchRefusals } from './refusals.js';
import type { BatchTools } from './tools.js';

export const whyRequest = z.strictObject({ reason: reasonText.min(1) });

/** What a person does with a batch that was approved. */
export type Command = 'pause' | 'resume' | 'stop';

export interface Commanded {
  batch_id: string;
  state: BatchState;
}

interface Given {
  batchId: string;
  person: Person;
  reason?: string;
}

/**
 * Pauses, resumes or stops a batch. Throws the refusal of the state it is in; a batch whose approval has expired is not resumed, and one that
 * waits for somebody who has looked at its canary not by whoever made it.
 */
export async function commandBatch({ db, logger }: BatchTools, command: Command, { batchId, person, reason }: Given): Promise<Commanded> {
  const state = await db.transaction(async (tx) => {
    const batch = await lockBatch(tx, batchId, person);
    if (command === 'resume' && batch.state === 'paused' && hasExpired(batch)) throw batchRefusals.approvalExpired();
    if (command === 'resume' && waitsForWord(batch) && isOwnWork(batch, person)) throw batchRefusals.selfVouching();
    const changed = await changeState(tx, batch, {
      event: command,
      by: person.subject,
      ...(command !== 'resume' && { why: 'by_person', detail: reason }),
    });
    await audit(tx, {
      ...actor(person),
      action: `batch.${command}`,
      organization: organizationOf(batch),
      subject: { batch_id: batchId, reason, was: batch.state },
    });
    return changed;
  });
  logger.info({ batch_id: batchId, state, decision: command }, 'Replay batch commanded');
  return { batch_id: batchId, state };
}

/** One that has begun is bound by its deadline alone. */
export function hasExpired(batch: Pick<BatchRow, 'began_at' | 'approval_expires_at' | 'not_after' | 'now'>): boolean {
  const until = batch.began_at === null ? batch.approval_expires_at : batch.not_after;
  return until !== null && until <= batch.now;
}

export interface Edited {
  batch_id: string;
  state: BatchState;
  hash: string;
  items: number;
}

const capsSql = `
UPDATE replay_batch SET rate_per_s = $2, concurrency = $3, max_duration_ms = $4, new_deadline_ms = $5, canary_wanted = $6,
  reason = $7, hash = $8, items = $9, edited_by = $10, approver = NULL, approved_by = NULL, approved_at = NULL, approval_expires_at = NULL,
  not_after = NULL, deadline_at = NULL, canary_size = 0
WHERE batch_id = $1`;
/** Nothing of it has been sent yet; what was reserved is free again. */
const relist = {
  name: 'operator.relist_items',
  text: `
UPDATE replay_item SET state = 'listed', canary = false, closed_at = NULL, verdict = NULL, detail = NULL
WHERE batch_id = $1 AND position > $2 AND position <= $3 AND (state <> 'listed' OR verdict IS NOT NULL)`,
};
const excludeSql = 'DELETE FROM replay_item WHERE batch_id = $1 AND event_id = ANY ($2::uuid[])';
const hashedSql = 'SELECT event_id, destination, mapping_version, request_hash, generation, repair FROM replay_item WHERE batch_id = $1';

/**
 * Changes caps, reason or list of a batch that has not begun. It is a draft again with another hash: dry run and approval are void, and whoever
 * changed it approves it no more than its author does.
 */
export async function editBatch({ db }: BatchTools, request: EditRequest, { batchId, person }: Given): Promise<Edited> {
  return db.transaction(async (tx) => {
    const batch = await lockBatch(tx, batchId, person);
    const state = await changeState(tx, batch, { event: 'edit' });
    await eachPage(tx, relist, { batchId, last: await lastPosition(tx, batchId) });
    if (request.exclude_event_ids) await tx.sql('operator.exclude_items', excludeSql, [batchId, request.exclude_event_ids]);
    const edited = await writeEdit(tx, batch, { request, editor: person.subject });
    const { exclude_event_ids, ...caps } = request;
    const subject = { batch_id: batchId, ...caps, excluded: exclude_event_ids?.length ?? 0, was: batch.state, hash: edited.hash };
    await audit(tx, { ...actor(person), action: 'batch.edit', organization: organizationOf(batch), subject });
    return { batch_id: batchId, state, ...edited };
  });
}

interface ToWrite {
  request: EditRequest;
  editor: string;
}

async function writeEdit(tx: Tx, batch: BatchRow, { request, editor }: ToWrite): Promise<{ hash: string; items: number }> {
  const items = await tx.sql<HashedItem>('operator.hashed_items', hashedSql, [batch.batch_id]);
  if (items.length === 0) throw batchRefusals.nothingSelected();
  const before = capsOf(batch);
  const new_deadline_ms = request.new_deadline ?? before.new_deadline_ms;
  const caps = {
    max: before.max,
    rate_per_s: request.rate_per_s ?? before.rate_per_s,
    concurrency: request.concurrency ?? before.concurrency,
    max_duration_ms: Math.min(request.max_duration ?? before.max_duration_ms, new_deadline_ms),
    new_deadline_ms,
    canary: request.canary ?? before.canary,
    reason: request.reason ?? before.reason,
  };
  const hash = batchHash(items, caps);
  const limits = [caps.rate_per_s, caps.concurrency, caps.max_duration_ms, caps.new_deadline_ms, caps.canary, caps.reason];
  await tx.sql('operator.edit_batch', capsSql, [batch.batch_id, ...limits, hash, items.length, editor]);
  return { hash, items: items.length };
}
