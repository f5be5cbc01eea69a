import { Refusal, refusals } from '../http/refusal.js';
import type { BatchRefusal } from './machine/batch-state.js';

const words: Readonly<Record<BatchRefusal, string>> = {
  batch_not_checked: 'The batch has no dry run since it was made or edited: run it first',
  batch_already_approved: 'The batch was approved before',
  batch_started: 'The batch has begun: stop it and make another',
  batch_not_started: 'The batch has not begun',
  batch_not_paused: 'The batch is not paused',
  batch_paused: 'The batch is paused already',
  batch_ended: 'The batch has ended',
};

/** Why something is not done with a batch, each under its own type; `detail` says what to do instead. */
export const batchRefusals = {
  state: (refusal: BatchRefusal, state: string): Refusal => refusals.conflict(typeOf(refusal), words[refusal], { state }),
  staleHash: (hash: string): Refusal =>
    refusals.conflict('stale-hash', 'The batch is another than the one you looked at: look again', { hash }),
  selfApproval: (): Refusal =>
    refusals.conflict('self-approval', 'Whoever made a batch or edited it last cannot approve it: a second person has to'),
  selfVouching: (): Refusal =>
    refusals.conflict('self-vouching', 'Whoever made a batch or edited it last cannot vouch for its canary: a second person has to look'),
  dryRunExpired: (): Refusal => refusals.conflict('dry-run-expired', 'The dry run is too old to decide by: run it again'),
  settledSince: (count: number): Refusal =>
    refusals.conflict('settled-since', `${count} of the discrepancies were settled since the dry run: run it again`, { count }),
  approvalExpired: (): Refusal => refusals.conflict('approval-expired', 'The approval has expired: make a new batch'),
  nothingEligible: (): Refusal => refusals.conflict('nothing-eligible', 'No item of the batch may be tried again'),
  nothingSelected: (): Refusal => refusals.conflict('nothing-selected', 'No open dead letter fits the filter'),
  otherBatch: (batchId: string, count: number): Refusal =>
    refusals.conflict('items-in-another-batch', `${count} of the items are in the batch ${batchId}, which has not ended`, {
      batch_id: batchId,
      count,
    }),
  policyOff: (): Refusal =>
    refusals.conflict('policy-off', 'This site does not let one person replay alone: make a batch and have it approved'),
  /** `taken`: of the person's own, under way or approved in the last hour. */
  policyTooLarge: (max: number, { eligible, taken }: { eligible: number; taken: number }): Refusal =>
    refusals.conflict(
      'policy-too-large',
      `One person alone may replay ${max} items at a time and in an hour: these are ${eligible}, and ${taken} more are under way or were approved in the last hour`,
      { max, taken },
    ),
};

const typeOf = (refusal: BatchRefusal): string => refusal.replaceAll('_', '-');

/** Whether an error is the refusal of this type. */
export function isRefused(error: unknown, type: string): error is Refusal {
  return error instanceof Refusal && error.problem.type.endsWith(`:${type}`);
}
