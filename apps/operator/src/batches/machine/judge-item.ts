import type { ReplayItemState } from '#delivery';

/**
 * What an approved item came to. `succeeded`: delivered by it. `failed`: applied, and the delivery ended again. `uncertain`: applied, and nobody
 * knows. `ended`: the delivery came to an end otherwise, before the item or beside it. `not_applied`: its time was over. `stopped`: its batch
 * was stopped before it was applied.
 */
export type ItemOutcome = 'succeeded' | 'failed' | 'uncertain' | 'ended' | 'not_applied' | 'stopped';

/** `close`: nothing has been done and nothing may be any more; its owner has to be told before that is true. */
export type ItemVerdict = ItemOutcome | 'open' | 'close';

/**
 * What an item is by what its owner says of it, never by what was announced of its lead. `repair`: it is about a delivery that had been delivered
 * before.
 */
export function judgeItem(
  item: ReplayItemState,
  { stopped, overdue, repair = false }: { stopped: boolean; overdue: boolean; repair?: boolean },
): ItemVerdict {
  const { state } = item;
  if (state === 'discarded' || state === 'erased') return 'ended';
  if (item.applied) {
    if (state === 'delivered') return 'succeeded';
    if (state === 'dead' || state === 'expired') return 'failed';
    return state === 'uncertain' && item.raised ? 'uncertain' : 'open';
  }
  if (state === 'delivered' && !repair) return 'ended';
  if (item.closed) return stopped ? 'stopped' : 'not_applied';
  return stopped || overdue ? 'close' : 'open';
}
