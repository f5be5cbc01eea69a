import type { DiscrepancyAspect, DiscrepancyClass, Urgency } from '#delivery';

interface Policy {
  urgency: Urgency;
  /** Of those that a site's `owner` does not take: a role, as for dead letters. */
  owner: 'integration' | 'operations' | 'sales_operations';
  nextStep: string;
}

const conflict: Readonly<Record<'value' | 'status' | 'version' | 'human_change', Policy>> = {
  value: {
    urgency: 'normal',
    owner: 'integration',
    nextStep: 'Compare the record with the lead; where a repair is proposed, approve that the newest submission is written again.',
  },
  status: { urgency: 'normal', owner: 'sales_operations', nextStep: 'Ask who moved the record to this status, and correct it there.' },
  version: {
    urgency: 'normal',
    owner: 'integration',
    nextStep: 'Find out whether the destination was restored or merged records; then compare the record with the lead.',
  },
  human_change: {
    urgency: 'low',
    owner: 'sales_operations',
    nextStep: 'A person changed it after us: decide there which value is right. No repair writes over it.',
  },
};

const relationship: Readonly<
  Record<'delivered_without_reference' | 'succeeded_without_attempt' | 'assigned_without_owner' | 'wrong_contact' | 'told_late', Policy>
> = {
  delivered_without_reference: {
    urgency: 'normal',
    owner: 'integration',
    nextStep: 'Look up the record at the destination and record its reference as evidence.',
  },
  succeeded_without_attempt: {
    urgency: 'normal',
    owner: 'integration',
    nextStep: 'Find out what set this operation to succeeded; nothing in its history says so.',
  },
  assigned_without_owner: { urgency: 'high', owner: 'sales_operations', nextStep: 'Give the record an owner at the destination.' },
  wrong_contact: {
    urgency: 'normal',
    owner: 'sales_operations',
    nextStep: 'Decide at the destination which person the record belongs to, and link that one.',
  },
  told_late: {
    urgency: 'low',
    owner: 'operations',
    nextStep: 'See what held the message up (its channel, the notifier, Kafka): nobody need be told again.',
  },
};

const deadEnd: Readonly<Record<'without_letter' | 'letter_without_state', Policy>> = {
  without_letter: {
    urgency: 'high',
    owner: 'operations',
    nextStep: 'Nobody was asked about this lead: see why its dead letter does not arrive at the operator.',
  },
  letter_without_state: {
    urgency: 'low',
    owner: 'operations',
    nextStep: 'The lead has gone on since: close the dead letter.',
  },
};

const whole: Readonly<Record<Exclude<DiscrepancyClass, 'content_conflict' | 'relationship' | 'dead_end'>, Policy>> = {
  missing: {
    urgency: 'high',
    owner: 'integration',
    nextStep: 'The destination said yes and has nothing: approve a repair that makes the record.',
  },
  deleted: {
    urgency: 'high',
    owner: 'sales_operations',
    nextStep: 'Ask whether it was deleted on purpose: accept it then, else approve a repair that makes it again.',
  },
  duplicate: {
    urgency: 'normal',
    owner: 'sales_operations',
    nextStep: 'Merge the two records at the destination; nothing is removed from here.',
  },
  late: {
    urgency: 'high',
    owner: 'integration',
    nextStep: 'It is there though it was given up: record its reference as evidence before anybody replays it.',
  },
  orphan: {
    urgency: 'low',
    owner: 'operations',
    nextStep: 'Find out which system writes ids of this form; no lead of this id was ever accepted.',
  },
  possible_manual_twin: {
    urgency: 'high',
    owner: 'sales_operations',
    nextStep: 'Somebody may have typed in a lead that waits here, or waited: link the two, and discard the waiting one before it is sent.',
  },
  told_nobody: {
    urgency: 'high',
    owner: 'operations',
    nextStep: 'Nobody was told what became of the lead: approve that it is told now, and tell its owner.',
  },
};

/** What is to be done about a discrepancy, by whom, and how soon. */
export function policyOf(name: DiscrepancyClass, aspect: DiscrepancyAspect | undefined): Policy {
  if (name === 'content_conflict') return conflict[aspect as keyof typeof conflict];
  if (name === 'relationship') return relationship[aspect as keyof typeof relationship];
  if (name === 'dead_end') return deadEnd[aspect as keyof typeof deadEnd];
  return whole[name];
}
