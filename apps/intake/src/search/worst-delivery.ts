import type { DeliveryState } from '#contracts';

const worstFirst: readonly DeliveryState[] = [
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

/** The state that a lead is shown with. */
export function worstDelivery(states: readonly DeliveryState[]): DeliveryState {
  return worstFirst.find((state) => states.includes(state)) ?? 'accepted';
}
