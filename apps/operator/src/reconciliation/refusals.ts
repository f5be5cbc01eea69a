import { problem } from '#runtime';
import { Refusal, refusals } from '../http/refusal.js';

/** Why something is not done about discrepancies, each under its own type. */
export const reconciliationRefusals = {
  away: (detail = 'reconciler does not answer: runs, discrepancies and balances are kept there'): Refusal =>
    new Refusal(problem(503, 'unavailable', 'A part that is needed does not answer; try again', { detail })),
  refused: (): Refusal =>
    refusals.invalid([{ field: 'after', problem: 'is no page that there is', fix: 'Take `next` of the page before, or leave it out' }]),
  notComparable: (destination: string): Refusal =>
    refusals.conflict('not-comparable', `${destination} can neither be read by key nor say what changed: it cannot be compared`, {
      destination,
    }),
  emptyWindow: (): Refusal => refusals.conflict('empty-window', 'The window holds no time that is over: write `from` before `to`'),
  othersThere: (): Refusal =>
    refusals.forbidden('Leads of organizations that you may not see go there too: somebody who sees all of them decides'),
  runEnded: (): Refusal => refusals.conflict('run-ended', 'The run has ended'),
  settled: (state: string): Refusal =>
    refusals.conflict('discrepancy-settled', `The discrepancy is ${state}: nothing is left to be decided`, { state }),
  inBatch: (batchId: string): Refusal =>
    refusals.conflict('item-in-batch', `The batch ${batchId} repairs it: wait for its end, or stop it`, { batch_id: batchId }),
  nothingToRepair: (): Refusal =>
    refusals.conflict('nothing-to-repair', 'None of them can be repaired by an approved item: look at their next steps', {}),
};
