import type { DeliveryStateItem } from '#delivery';

export type ClosedAs = 'delivered' | 'discarded' | 'erased' | 'superseded';

/**
 * Whether nobody need decide on a letter any more, from what its delivery is now. `superseded`: it ended again in a later round, or otherwise
 * than as uncertain, and has a letter for that. Undefined: it stays open.
 */
export function closedAs(
  letter: { class: string; deadlineAt?: Date },
  delivery: Pick<DeliveryStateItem, 'state' | 'deadline_at'> | undefined,
): ClosedAs | undefined {
  if (delivery === undefined) return undefined;
  const { state, deadline_at } = delivery;
  if (state === 'delivered' || state === 'discarded' || state === 'erased') return state;
  if (state !== 'dead' && state !== 'expired') return undefined;
  const laterRound = letter.deadlineAt !== undefined && Date.parse(deadline_at) !== letter.deadlineAt.getTime();
  return laterRound || letter.class === 'unverified_write' ? 'superseded' : undefined;
}
