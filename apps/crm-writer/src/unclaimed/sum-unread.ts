import type { UnclaimedLeads, UnclaimedSum } from '#delivery';
import type { UnreadLead } from './unread-partition.js';

/** One destination's partitions, as far as they were looked at. */
export interface Unread {
  leads: readonly UnreadLead[];
  /** Offsets that were not looked at. */
  unseen: number;
}

/** Adds partitions up. A lead that was announced again lies there twice and is one lead. */
export function sumUnread(partitions: readonly Unread[]): UnclaimedLeads {
  const leads = [...new Map(partitions.flatMap((one) => one.leads.map((lead) => [lead.eventId, lead] as const))).values()];
  const unseen = partitions.reduce((sum, one) => sum + one.unseen, 0);
  return {
    exact: unseen === 0,
    all: sumOf(leads, unseen),
    real: sumOf(
      leads.filter(({ test }) => !test),
      unseen,
    ),
  };
}

function sumOf(leads: readonly UnreadLead[], unseen: number): UnclaimedSum {
  const oldestAtMs = leads.reduce((oldest, { submittedAtMs }) => Math.min(oldest, submittedAtMs), Number.POSITIVE_INFINITY);
  return { count: leads.length + unseen, ...(leads.length > 0 && { oldestAtMs }) };
}
