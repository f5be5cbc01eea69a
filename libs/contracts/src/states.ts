/** States of one operation (one destination action), on the wire and in tables. */
export const operationStates = [
  'pending',
  'in_flight',
  'waiting',
  'held',
  'uncertain',
  'succeeded',
  'dead',
  'expired',
  'discarded',
  'erased',
] as const;
export type OperationState = (typeof operationStates)[number];

/** States of a delivery (event id, destination): `delivered` stands for `succeeded`, `accepted` is not yet claimed by its owner. */
export type DeliveryState = 'accepted' | 'delivered' | Exclude<OperationState, 'succeeded'>;

/** Worst first. A delivery is as bad as its worst operation. */
const worstFirst: readonly OperationState[] = [
  'uncertain',
  'dead',
  'expired',
  'held',
  'waiting',
  'in_flight',
  'pending',
  'discarded',
  'erased',
  'succeeded',
];

/** The state of a delivery from the states of all its operations; no operations at all is `accepted`. */
export function deliveryState(operations: readonly OperationState[]): DeliveryState {
  const worst = worstFirst.find((state) => operations.includes(state));
  if (worst === undefined) return 'accepted';
  return worst === 'succeeded' ? 'delivered' : worst;
}

/** States that no wake-up changes any more; only an approved item or a person's evidence does. */
export const finalStates = ['succeeded', 'dead', 'expired', 'discarded', 'erased'] as const satisfies readonly OperationState[];

/** Whether a state is one of `finalStates`. */
export function isFinal(state: OperationState): boolean {
  return (finalStates as readonly string[]).includes(state);
}
