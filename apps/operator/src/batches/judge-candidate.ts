import type { DeliveryStateItem } from '#delivery';

export type ItemVerdict =
  | 'approved'
  | 'already_approved'
  | 'already_delivered'
  | 'ended'
  | 'in_progress'
  | 'uncertain'
  | 'superseded'
  | 'not_found'
  | 'no_record'
  | 'too_old'
  | 'not_replayable';

type Current = Pick<DeliveryStateItem, 'state' | 'deadline_at' | 'operations'>;

export interface Candidate {
  submittedAt?: Date;
  deadlineAt?: Date;
  /** The record's bytes are here. */
  hasRecord: boolean;
  /** There is a topic for it that somebody reads. */
  replayable: boolean;
  hasOpenItem: boolean;
  /** By the lead's policy. */
  maxAgeMs: number;
}

/**
 * Whether a dead letter's delivery may be tried again, from what it is at its owner now. `uncertain` may have happened: it needs evidence,
 * never a replay. `superseded`: this is the letter of an earlier round.
 */
export function judgeCandidate(letter: Candidate, delivery: Current | undefined, now: Date): ItemVerdict {
  if (!letter.replayable) return 'not_replayable';
  if (letter.hasOpenItem) return 'already_approved';
  if (delivery === undefined) return 'not_found';
  if (delivery.state === 'delivered') return 'already_delivered';
  if (delivery.state === 'discarded' || delivery.state === 'erased') return 'ended';
  if (delivery.state === 'uncertain') return 'uncertain';
  if (delivery.state !== 'dead' && delivery.state !== 'expired') return 'in_progress';
  if (letter.deadlineAt?.getTime() !== Date.parse(delivery.deadline_at)) return 'superseded';
  if (letter.submittedAt !== undefined && now.getTime() - letter.submittedAt.getTime() > letter.maxAgeMs) return 'too_old';
  return letter.hasRecord && delivery.operations.length > 0 ? 'approved' : 'no_record';
}
