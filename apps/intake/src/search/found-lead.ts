import type { DeliveryState } from '#contracts';

/** One lead that a search found, or a refusal of one: by names and references alone. */
export interface FoundLead {
  /** Of the lead; of the refusal where nothing was accepted. */
  event_id: string;
  lead_ref: string | null;
  organization: string;
  source: string;
  form: string | null;
  submitted_at: string | null;
  test: boolean;
  /** As the worst of its deliveries, by what intake heard last. */
  state: DeliveryState | 'rejected';
}

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
