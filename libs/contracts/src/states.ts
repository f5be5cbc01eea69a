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

/** Worst first: what a person has to know before anything else. */
export const worstFirst: readonly DeliveryState[] = [
  'uncertain',
  'dead',
  'expired',
  'held',
  'waiting',
  'in_flight',
  'pending',
  'accepted',
  'discarded',
  'erased',
  'delivered',
];

/** The state that a lead is shown with, from those of its deliveries; none at all is `accepted`. */
export function worstDelivery(states: readonly DeliveryState[]): DeliveryState {
  return worstFirst.find((state) => states.includes(state)) ?? 'accepted';
}

/** The state of a delivery from the states of all its operations, as bad as the worst of them; no operations at all is `accepted`. */
export function deliveryState(operations: readonly OperationState[]): DeliveryState {
  return worstDelivery(operations.map((state) => (state === 'succeeded' ? 'delivered' : state)));
}

/** States that no wake-up changes any more; only an approved item or a person's evidence does. */
export const finalStates = ['succeeded', 'dead', 'expired', 'discarded', 'erased'] as const satisfies readonly OperationState[];

/** Whether a state is one of `finalStates`. */
export function isFinal(state: OperationState): boolean {
  return (finalStates as readonly string[]).includes(state);
}
