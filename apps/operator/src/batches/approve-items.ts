import { z } from 'zod';
import { reasonText } from '#delivery';
import type { Person } from '../people/person.js';
import { approveBatch } from './approve-batch.js';
import { checkBatch } from './check-batch.js';
import { commandBatch } from './command-batch.js';
import { draftBatch } from './draft-batch.js';
import { deadline, filterSchema } from './filter.js';
import { listItems } from './read-batches.js';
import { isRefused } from './refusals.js';
import { leftAlone } from './single-operator.js';
import type { BatchTools } from './tools.js';

/** Where one person works alone, a batch is small enough to be looked through. */
const largestAlone = 50;

export const approveRequest = z.strictObject({
  approver: z.string().trim().min(1).max(100),
  reason: reasonText.optional(),
  /** From now on; the old deadline is kept beside it. */
  new_deadline: deadline,
  select: filterSchema,
  max: z.number().int().min(1).max(largestAlone).default(largestAlone),
});
export type ApproveRequest = z.infer<typeof approveRequest>;

const approvedItem = z.object({
  event_id: z.uuid(),
  destination: z.string(),
  /** `approved`, or the verdict that kept it from that. */
  verdict: z.string(),
  /** What is in the way: the other batch, the destination's reference, what is missing. */
  reason: z.string().optional(),
  item_id: z.uuid().optional(),
});
export const approval = z.object({
  /** Absent when nothing could be approved: then no batch runs. */
  batch_id: z.uuid().optional(),
  approved: z.number(),
  not_after: z.string().optional(),
  deadline_at: z.string().optional(),
  /** Why nothing may be approved at all. */
  reason: z.string().optional(),
  items: z.array(approvedItem),
});
export type Approval = z.infer<typeof approval>;

/** Fast enough for few items, and no more than that at once. */
const caps = { rate_per_s: 50, concurrency: largestAlone };
/** Another approval at the same moment takes items away; what is left is tried once more. */
const tries = 3;

/**
 * Draft, dry run and approval in one, of `max` items at most and no more than the policy `single_operator` leaves this person. It runs like any
 * batch, canary first. Asked twice, the second finds the items in the first batch. Throws the refusals of the policy; rejects with
 * InternalUnavailable while somebody who must be asked does not answer.
 */
export async function approveItems(tools: BatchTools, request: ApproveRequest, person: Person): Promise<Approval> {
  const { select, new_deadline, reason = 'approved alone' } = request;
  const max = Math.min(request.max, await leftAlone(tools.db, tools.site, person));
  const draft = { select, max, new_deadline, max_duration: new_deadline, reason, ...caps };
  const batch = await draftBatch(tools, draft, person).catch((error: unknown) => {
    if (isRefused(error, 'nothing-selected')) return undefined;
    throw error;
  });
  if (batch === undefined) return { approved: 0, items: [] };
  const { batch_id } = batch;
  for (let left = tries; ; left -= 1) {
    const { hash, verdicts } = await checkBatch(tools, batch_id, person);
    if ((verdicts.eligible ?? 0) === 0) return leave(tools, batch_id, person);
    const bound = { request: { hash, policy: 'single_operator' as const, valid_for: new_deadline }, person };
    const approved = await approveBatch(tools, batch_id, bound).catch((error: unknown) => {
      if (left > 1 && isRefused(error, 'items-in-another-batch')) return undefined;
      throw error;
    });
    if (approved === undefined) continue;
    const { deadline_at } = approved;
    return { batch_id, approved: approved.approved, not_after: deadline_at, deadline_at, items: await itemsOf(tools, batch_id, person) };
  }
}

/** Nothing of it may be tried again: the draft says why each, and is not to be approved by anybody later. */
async function leave(tools: BatchTools, batchId: string, person: Person): Promise<Approval> {
  const items = await itemsOf(tools, batchId, person);
  await commandBatch(tools, 'stop', { batchId, person, reason: 'nothing eligible' });
  return { approved: 0, items };
}

async function itemsOf({ db }: BatchTools, batchId: string, person: Person): Promise<Approval['items']> {
  const { items } = await listItems(db, { batchId, person, page: { after: 0, limit: 500 } });
  return items.map(({ event_id, destination, state, verdict, detail, item_id }) => ({
    event_id,
    destination,
    verdict: verdict === 'eligible' && state !== 'listed' ? 'approved' : (verdict ?? 'listed'),
    ...(detail !== null && { reason: detail }),
    ...(verdict === 'eligible' && { item_id }),
  }));
}
