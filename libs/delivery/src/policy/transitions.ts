import type { OperationState } from '#contracts';

/**
 * What each state of an operation may become. Every change is a compare-and-set by the owning service on the row itself. On top of this table any state
 * becomes `succeeded` when an answer or a lookup shows a reference for this very operation key.
 */
const transitions: Readonly<Record<OperationState, readonly OperationState[]>> = {
  /**
   * `uncertain`: the deadline has passed, and an earlier call may have been executed. `succeeded`, here and below: found at the destination when the lead
   * was corrected, although it was left behind an operation that failed.
   */
  pending: ['in_flight', 'succeeded', 'held', 'uncertain', 'expired', 'discarded', 'erased'],
  /** `pending`: with an approved item for a delivery in which another operation failed. */
  waiting: ['in_flight', 'succeeded', 'held', 'pending', 'uncertain', 'expired', 'discarded', 'erased'],
  /** Never claimed as it is: the sweeper releases it first. */
  held: ['waiting', 'pending', 'succeeded', 'uncertain', 'expired', 'discarded', 'erased'],
  /** `pending`: not sent. The last three without a call: the vault row is gone, consent was withdrawn, the deadline has passed. */
  in_flight: ['succeeded', 'waiting', 'uncertain', 'held', 'dead', 'pending', 'erased', 'discarded', 'expired'],
  /** `waiting`: proved absent, or `dead` and `expired` where a limit is reached. `discarded`: by a person, with evidence. */
  uncertain: ['succeeded', 'waiting', 'dead', 'expired', 'discarded'],
  /** `pending`: with an approved item, whose claim takes it on. */
  dead: ['pending', 'discarded', 'erased', 'succeeded'],
  expired: ['pending', 'discarded', 'erased', 'succeeded'],
  succeeded: [],
  discarded: ['succeeded'],
  erased: ['succeeded'],
};

/** True when the table allows the change. */
export function mayBecome(from: OperationState, to: OperationState): boolean {
  return transitions[from].includes(to);
}
