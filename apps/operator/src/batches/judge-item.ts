import type { DeliveryStateItem } from '#delivery';

/** What an approved item came to. `failed`: applied, and the delivery ended again. `not_applied`: its time is over and nothing was done. */
export type ItemOutcome = 'succeeded' | 'failed' | 'ended' | 'not_applied';

/** A record that was admitted in time may still be on its way to the row. */
const graceMs = 60_000;

/** What an item came to, from what its delivery is now; undefined while that is open. A permit's deadline in the row says that it was applied. */
export function judgeItem(
  item: { deadlineAt: Date; notAfter: Date; batchEndedAt?: Date },
  delivery: Pick<DeliveryStateItem, 'state' | 'deadline_at'> | undefined,
  now: Date,
): ItemOutcome | undefined {
  if (delivery?.state === 'delivered') return 'succeeded';
  if (delivery?.state === 'discarded' || delivery?.state === 'erased') return 'ended';
  const applied = delivery !== undefined && Date.parse(delivery.deadline_at) === item.deadlineAt.getTime();
  const atRest = delivery === undefined || delivery.state === 'dead' || delivery.state === 'expired';
  if (!atRest) return undefined;
  if (applied) return 'failed';
  const lastMoment = Math.min(item.notAfter.getTime(), item.batchEndedAt?.getTime() ?? Number.POSITIVE_INFINITY);
  return now.getTime() > lastMoment + graceMs ? 'not_applied' : undefined;
}
