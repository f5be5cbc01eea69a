import { type DeliveryState, deliveryState, type OperationState } from '#contracts';

/**
 * The state of a delivery by the operations that are left of it. Those whose rows are gone count as `gone`: nobody knows what became of them,
 * so they are never done, and a delivery that has none left is no newly accepted one.
 */
export function worstOf(
  states: readonly OperationState[],
  { incomplete, gone }: { incomplete: boolean; gone: OperationState },
): DeliveryState {
  return deliveryState(incomplete || states.length === 0 ? [...states, gone] : states);
}
